"""Metric lines out of a rank's stdout, as it arrives in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from cockpit_trainer.wire import CheckpointSaved, Metrics, Phase, parse_line

_MARK = b"[cockpit]"
MAX_LINE = 64 * 1024
"""Bytes of a line that is still looked at; a longer one is passed over."""


class MetricReader:
    """Cuts bytes into lines (LF or CR) and reads those that are ours."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        """Bytes of the file up to which every line was read."""
        self._rest = b""

    @property
    def position(self) -> int:
        """Bytes of the file that were fed."""
        return self.offset + len(self._rest)

    def feed(self, data: bytes) -> Iterator[Metrics | CheckpointSaved | Phase]:
        lines = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        self.offset += len(self._rest) + len(data) - len(lines[-1])
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE:
            self.offset += len(self._rest)
            self._rest = b""
        for line in lines:
            if _MARK in line:
                found = parse_line(line.decode("utf-8", "replace"))
                if found is not None:
                    yield found
