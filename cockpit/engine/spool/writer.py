"""Keeps the bytes of an attempt's streams exactly as the nodes wrote them, and in which order."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from cockpit.engine.spool.journal import (
    JOURNAL,
    VERSION,
    VERSION_FILE,
    Journal,
    Span,
    check_version,
    spans,
)
from cockpit.engine.spool.streams import TABLE, Entry, append_entry, read_entries

_READ_BYTES = 1 << 20


class SpoolGap(Exception):
    """Bytes are missing between what is kept and what came."""

    def __init__(self, stream: str, kept: int, offset: int) -> None:
        super().__init__(
            f"{stream!r}: bytes {kept} to {offset} never came; follow it again from {kept}"
        )
        self.kept = kept
        """Where to follow from, in bytes."""


class AttemptSpool:
    """The one writer of an attempt's spool; what a killed writer left behind is repaired first."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not check_version(directory):
            (directory / VERSION_FILE).write_text(VERSION)
        self.directory = directory
        self._tails: dict[str, _Tail] = {}
        """The newest generation of each stream, by name."""
        self._journal = Journal(directory / JOURNAL)
        self._count = 0
        try:
            self._repair()
        except BaseException:
            self._journal.close()
            raise

    def size(self, stream: str) -> int:
        """Bytes of the stream that are kept, which is where following goes on."""
        tail = self._tails.get(stream)
        return tail.size if tail else 0

    def kept(self, stream: str, offset: int) -> Iterator[bytes]:
        """What is kept of a stream from `offset` on, in pieces."""
        tail = self._tails.get(stream)
        if tail is None or offset >= tail.size:
            return
        with tail.path.open("rb") as file:
            file.seek(offset)
            while data := file.read(_READ_BYTES):
                yield data

    def declare(self, stream: str, node: str, rank: int | None) -> None:
        """Say who prints a stream."""
        tail = self._tail(stream)
        entry = dataclasses.replace(tail.entry, node=node, rank=rank)
        if entry != tail.entry:
            append_entry(self.directory, entry)
            tail.entry = entry

    def append(self, stream: str, offset: int, data: bytes) -> None:
        """Keep bytes that stand at `offset`; those that are kept already are dropped.

        Raises SpoolGap, and OSError where the disk is full: `size` then tells how far it came.
        """
        tail = self._tail(stream)
        if offset > tail.size:
            raise SpoolGap(stream, tail.size, offset)
        fresh = data[tail.size - offset :]
        if not fresh:
            return
        begin = tail.size
        try:
            tail.write(fresh)
        finally:
            self._note(tail, fresh[: tail.size - begin], begin)
            self._journal.flush()

    def replaced(self, stream: str) -> None:
        """The node's file is another one now: it is kept from 0 on, the old bytes stay aside."""
        old = self._tail(stream)
        generation = old.entry.generation + 1
        entry = dataclasses.replace(old.entry, number=self._count, generation=generation)
        self._end(old)
        self._add(entry)
        self._journal.add(entry.number, Span(1, 0, 0))
        self._journal.flush()

    def close(self) -> None:
        self._journal.close()

    def _tail(self, stream: str) -> _Tail:
        if stream not in self._tails:
            self._add(Entry(self._count, stream))
        return self._tails[stream]

    def _add(self, entry: Entry) -> None:
        append_entry(self.directory, entry)
        self._tails[entry.name] = _Tail(entry, self.directory)
        self._count = entry.number + 1

    def _note(self, tail: _Tail, data: bytes, offset: int) -> None:
        for span in spans(tail.noted, data, offset):
            self._journal.add(tail.entry.number, span)
            tail.noted = span.end

    def _end(self, tail: _Tail) -> None:
        """Take a last line without LF for whole: no LF will ever come."""
        if tail.noted < tail.size:
            self._journal.add(tail.entry.number, Span(1, tail.noted, tail.size))
            tail.noted = tail.size

    def _repair(self) -> None:
        entries, whole = read_entries(self.directory)
        if (self.directory / TABLE).exists():
            os.truncate(self.directory / TABLE, whole)
        tails = {number: _Tail(entry, self.directory) for number, entry in entries.items()}
        ends = self._journal.repair({number: tail.size for number, tail in tails.items()})
        for number, tail in sorted(tails.items()):
            if older := self._tails.get(tail.entry.name):
                self._end(older)
            if tail.entry.generation and number not in ends:
                self._journal.add(number, Span(1, 0, 0))
            tail.noted = ends.get(number, 0)
            self._recount(tail)
            self._tails[tail.entry.name] = tail
            self._count = number + 1
        self._journal.flush()

    def _recount(self, tail: _Tail) -> None:
        """Note the lines that a killed writer kept and did not live to note."""
        if tail.noted == tail.size:
            return
        with tail.path.open("rb") as file:
            file.seek(offset := tail.noted)
            while data := file.read(_READ_BYTES):
                self._note(tail, data, offset)
                offset += len(data)


class _Tail:
    """The growing end of one stream's file."""

    def __init__(self, entry: Entry, directory: Path) -> None:
        self.entry = entry
        self.path = directory / entry.file
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.noted = 0
        """Bytes that the journal knows of, in whole lines."""

    def write(self, data: bytes) -> None:
        # Opened for each write: a thousand streams would not fit into a process's descriptors.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                written = os.write(descriptor, rest)
                self.size += written
                rest = rest[written:]
        finally:
            os.close(descriptor)
