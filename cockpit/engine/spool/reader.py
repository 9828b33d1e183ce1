"""Reads any lines of an attempt's logs, merged as they arrived, while another process writes them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.engine.spool.arrival import BLOCK, ArrivalIndex, Record
from cockpit.engine.spool.journal import (
    JOURNAL,
    RECORD,
    SPAN_BYTES,
    check_version,
    read_records,
)
from cockpit.engine.spool.streams import TABLE, Entry, read_entries

LINE_BYTES = 4096
"""Bytes of one line that are handed out."""
REPLACED = (
    b"log replaced: the file on the node is another one now; what it held before stands above"
)

GONE = b"a line stood here; its file is gone from this machine's spool"


@dataclass(frozen=True, slots=True)
class Line:
    """One line as a terminal would have left it: what a progress bar overwrote is gone."""

    stream: str
    node: str
    rank: int | None
    data: bytes
    """At most LINE_BYTES, without the LF."""
    hidden: int = 0
    """Bytes that follow `data` in the file and are not handed out."""
    is_whole: bool = True
    """False while the LF has not come; such a line may still change."""
    is_mark: bool = False
    """Not a line of the file but a remark of the spool's."""

    @property
    def is_error(self) -> bool:
        return self.stream.endswith(".stderr")


class SpoolReader:
    """A window on a spool; looks again at each `refresh` and holds no file open."""

    def __init__(self, directory: Path, streams: Collection[str] | None = None) -> None:
        self._directory = directory
        self._names = None if streams is None else frozenset(streams)
        self._exists = False
        self._entries: dict[int, Entry] = {}
        self._paths: dict[int, str] = {}
        """By stream number: all are looked at in each refresh, so they are spelled once."""
        self._table_bytes = -1
        self._index = ArrivalIndex(self._load_block)
        self._tails: dict[int, int] = {}
        """By stream number, the size of a file that ends in a line without LF."""
        self.refresh()

    @property
    def entries(self) -> list[Entry]:
        """Every stream, in the order in which they came up."""
        return list(self._entries.values())

    @property
    def line_count(self) -> int:
        """Lines of the chosen streams; those without LF yet come last."""
        return self._index.line_count + len(self._tails)

    def refresh(self) -> bool:
        """Look for what was written; whether anything was. Raises ForeignSpool and OSError."""
        self._exists = self._exists or check_version(self._directory)
        if not self._exists:
            return False
        before = (self._table_bytes, self._index.record_count, self._tails)
        # A stream is named before its first record is written, so the names are read after it.
        self._read_journal()
        self._read_table()
        self._tails = dict(self._find_tails())
        return before != (self._table_bytes, self._index.record_count, self._tails)

    def choose(self, streams: Collection[str] | None, line: int = 0) -> int:
        """Show only these streams, or all; returns where `line` or what came after it stands then."""
        ordinal = self._index.ordinal_of(line)
        self._names = None if streams is None else frozenset(streams)
        self._index.choose(self._chosen())
        self._tails = dict(self._find_tails())
        return self._index.line_of(ordinal)

    def lines(self, first: int, count: int) -> list[Line]:
        """`count` lines from the `first` on, or as many as there are."""
        first = max(first, 0)
        found: list[Line] = []
        for begin, record in self._index.records_from(first):
            if len(found) >= count:
                return found
            found += self._read(record, max(first - begin, 0), count - len(found))
        after = max(first - self._index.line_count, 0)
        tails = list(self._tails.items())[after : after + count - len(found)]
        return found + [self._read_tail(number, size) for number, size in tails]

    def _read_table(self) -> None:
        size = _size(self._directory / TABLE)
        if size == self._table_bytes:
            return
        self._entries, self._table_bytes = read_entries(self._directory)
        self._paths = {n: str(self._directory / e.file) for n, e in self._entries.items()}
        if self._names is not None:
            self._index.choose(self._chosen())

    def _read_journal(self) -> None:
        path = self._directory / JOURNAL
        offset = self._index.record_count * RECORD.size
        if _size(path) - offset < RECORD.size:
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            for data in read_records(descriptor, offset):
                self._index.feed(RECORD.iter_unpack(data))
        finally:
            os.close(descriptor)

    def _load_block(self, block: int) -> Iterator[Record]:
        size = BLOCK * RECORD.size
        return RECORD.iter_unpack(_pread(self._directory / JOURNAL, block * size, size))

    def _chosen(self) -> set[int] | None:
        if self._names is None:
            return None
        return {n for n, entry in self._entries.items() if entry.name in self._names}

    def _find_tails(self) -> Iterator[tuple[int, int]]:
        chosen = self._chosen()
        for number, path in self._paths.items():
            if chosen is None or number in chosen:
                size = _size(path)
                if size > self._index.ends.get(number, 0):
                    yield number, size

    def _read(self, record: Record, skip: int, count: int) -> list[Line]:
        number, lines, begin, end = record
        entry = self._entries.get(number) or Entry(number, f"stream {number}")
        if begin == end:
            return [_mark(entry, REPLACED)]
        path = self._directory / entry.file
        try:
            if lines == 1:
                texts = [_last_state(path, begin, end)]
            else:
                raw = _pread(path, begin, end - begin - 1).split(b"\n")[skip : skip + count]
                texts = [_capped(_overwritten(line)) for line in raw]
        except FileNotFoundError:
            return [_mark(entry, GONE)] * min(lines - skip, count)
        return [Line(entry.name, entry.node, entry.rank, data, hidden) for data, hidden in texts]

    def _read_tail(self, number: int, size: int) -> Line:
        entry = self._entries[number]
        path = self._directory / entry.file
        data, hidden = _last_state(path, self._index.ends.get(number, 0), size)
        # A whole line may stand here for the instant in which the journal lacks it.
        return Line(entry.name, entry.node, entry.rank, data.split(b"\n")[0], hidden, False)


def _mark(entry: Entry, words: bytes) -> Line:
    return Line(entry.name, entry.node, entry.rank, words, is_mark=True)


def _last_state(path: Path, begin: int, end: int) -> tuple[bytes, int]:
    """One line of any length: its end tells what a progress bar says, its beginning the rest."""
    if end - begin <= SPAN_BYTES:
        return _capped(_overwritten(_pread(path, begin, end - begin).removesuffix(b"\n")))
    tail = _pread(path, end - SPAN_BYTES, SPAN_BYTES)
    line = tail.removesuffix(b"\n").rstrip(b"\r")
    if b"\r" in line:
        return _capped(_overwritten(line))
    head = _overwritten(_pread(path, begin, SPAN_BYTES))[:LINE_BYTES]
    return head, end - begin - tail.endswith(b"\n") - len(head)


def _overwritten(line: bytes) -> bytes:
    """What is left of a line once carriage returns have done their work."""
    line = line.rstrip(b"\r")
    return line[line.rfind(b"\r") + 1 :]


def _capped(line: bytes) -> tuple[bytes, int]:
    return line[:LINE_BYTES], max(len(line) - LINE_BYTES, 0)


def _pread(path: Path, offset: int, count: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, count, offset)
    finally:
        os.close(descriptor)


def _size(path: Path | str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
