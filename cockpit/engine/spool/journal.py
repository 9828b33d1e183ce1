"""The order in which whole lines arrived, over all streams: records of a fixed size, append only.

The stream files are the truth and the journal lags behind them: whatever it lacks after a crash is
counted again from the files.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

JOURNAL = "arrival"
VERSION_FILE = "version"
VERSION = "1"

RECORD = struct.Struct("<IIQQ")
"""Stream number, lines, and the bytes [begin, end) of the stream's file that hold them.

No bytes at all is the mark at which a stream began anew because its file was replaced.
"""
SPAN_BYTES = 64 * 1024
"""A record of more than one line covers at most so many bytes."""

_READ_RECORDS = 65536


class ForeignSpool(Exception):
    """The directory was written by another version; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of one stream that arrived together."""

    lines: int
    begin: int
    """Offset in the stream, in bytes."""
    end: int


def check_version(directory: Path) -> bool:
    """Whether there is a spool yet. Raises ForeignSpool."""
    try:
        found = (directory / VERSION_FILE).read_text().strip()
    except FileNotFoundError:
        return False
    if found not in ("", VERSION):
        raise ForeignSpool(
            f"{directory} was written by another version of cockpit (layout {found[:20]!r}, here "
            f"{VERSION}); open it with that version, or read its .log files directly"
        )
    return found == VERSION


def spans(begin: int, data: bytes, offset: int) -> Iterator[Span]:
    """The whole lines in `data`, which stands at `offset`; bytes from `begin` to there hold no LF."""
    while True:
        window = begin + SPAN_BYTES - offset
        cut = data.rfind(b"\n", max(begin - offset, 0), window) if window > 0 else -1
        if cut < 0:
            cut = data.find(b"\n", max(begin - offset, 0))
        if cut < 0:
            return
        end = offset + cut + 1
        yield Span(data.count(b"\n", max(begin - offset, 0), cut + 1), begin, end)
        begin = end


def read_records(descriptor: int, offset: int) -> Iterator[bytes]:
    """Whole records from `offset` to the end, many at once."""
    while data := os.pread(descriptor, RECORD.size * _READ_RECORDS, offset):
        whole = data[: len(data) - len(data) % RECORD.size]
        if not whole:
            return
        yield whole
        offset += len(whole)


class Journal:
    """The writer's end."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._owed = bytearray()
        """Records that a full disk kept out so far."""

    def repair(self, sizes: Mapping[int, int]) -> dict[int, int]:
        """Cut off what does not agree with the files; returns the end of each stream's records."""
        ends: dict[int, int] = {}
        good = 0
        for number, lines, begin, end in self._records():
            if number not in sizes or lines == 0:
                break
            is_mark = begin == end == 0 and number not in ends
            follows = ends.get(number, 0) == begin < end <= sizes[number]
            if not (is_mark or follows):
                break
            ends[number] = end
            good += RECORD.size
        os.ftruncate(self._descriptor, good)
        return ends

    def add(self, number: int, span: Span) -> None:
        self._owed += RECORD.pack(number, span.lines, span.begin, span.end)

    def flush(self) -> None:
        """Write what was added. Raises OSError and keeps what the disk did not take."""
        while self._owed:
            written = os.write(self._descriptor, self._owed)
            del self._owed[:written]

    def close(self) -> None:
        os.close(self._descriptor)

    def _records(self) -> Iterator[tuple[int, int, int, int]]:
        for data in read_records(self._descriptor, 0):
            yield from RECORD.iter_unpack(data)
