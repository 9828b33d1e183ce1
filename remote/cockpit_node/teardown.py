"""Notices in torchrun's own output that it ends its ranks because one of them has failed."""

from __future__ import annotations

import re

from cockpit_node.members import Members
from cockpit_node.plain import open_plain
from cockpit_node.unessential import unessential

_PIECE_LIMIT = 256 * 1024
"""Bytes read at once."""
_LINE_LIMIT = 4096
"""Bytes kept of a line that is not yet whole; torchrun's are shorter."""
# How torchrun marks its lines: since 2.3, before that, and without its own set-up of logging. The
# same words from a job or from setup lines have another beginning, or name no process of the run.
_BEGINNING = (
    rb"^(?:W\d{4} [\d:.]+ +\d+ (?:[^\s\]]+/)?torch/distributed/elastic/MODULE/api\.py:\d+\]"
    rb"|\[[\d ,:-]+\] torch\.distributed\.elastic\.MODULE\.api: \[WARNING\]"
    rb"|WARNING:torch\.distributed\.elastic\.MODULE\.api:) *"
)
_ENDS_RANK = re.compile(
    _BEGINNING.replace(b"MODULE", b"multiprocessing")
    + rb"Sending process (\d{1,9}) closing signal \S+\r?$",
    re.MULTILINE,
)
_IS_TOLD_TO_END = re.compile(
    _BEGINNING.replace(b"MODULE", b"agent[./]server") + rb"Received \S+ death signal",
    re.MULTILINE,
)


class Teardown:
    """Reads on where it last stopped."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self._was_told = False

    def begun(self, members: Members) -> bool:
        """Whether a rank failed while others live on. Not when torchrun itself was told to end."""
        lines = self._new_lines()
        self._was_told = self._was_told or _IS_TOLD_TO_END.search(lines) is not None
        named = {int(pid) for pid in _ENDS_RANK.findall(lines)}
        if self._was_told or not named:
            return False
        return any(row.pid in named for row in members.scan())

    def _new_lines(self) -> bytes:
        data = b""
        with unessential("torchrun's output could not be read"):
            with open(open_plain(self._path), "rb") as file:
                file.seek(self._offset)
                data = file.read(_PIECE_LIMIT)
            self._offset += len(data)
        lines, newline, self._rest = (self._rest + data).rpartition(b"\n")
        self._rest = self._rest[-_LINE_LIMIT:]
        return lines + newline
