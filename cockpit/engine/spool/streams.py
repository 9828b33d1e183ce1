"""The table of an attempt's streams: what they are called, who prints them, and their files."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = "streams.jsonl"

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One generation of one stream: a file that only grows."""

    number: int
    """Unique in the spool; what the journal says instead of a name."""
    name: str
    """As the node says it, so anything at all."""
    generation: int = 0
    """How many files of this name the node threw away before this one."""
    node: str = ""
    rank: int | None = None
    """None is the launcher, or not declared yet."""

    @property
    def file(self) -> str:
        """Name of the file in the spool directory; unique by its number, whatever the stream's."""
        return f"{self.number:05d}-{_UNSAFE.sub('_', self.name)[:80]}.log"


def line_of(entry: Entry) -> bytes:
    body = {
        "number": entry.number,
        "name": entry.name,
        "generation": entry.generation,
        "node": entry.node,
        "rank": entry.rank,
    }
    return json.dumps(body).encode() + b"\n"


def read_entries(directory: Path) -> tuple[dict[int, Entry], int]:
    """Entries by number, a later line over an earlier, and how many bytes of whole lines that is.

    A line that a crash of the machine spoiled is skipped: its stream is declared anew.
    """
    try:
        data = (directory / TABLE).read_bytes()
    except FileNotFoundError:
        return {}, 0
    whole = data[: data.rfind(b"\n") + 1]
    entries = [entry for line in whole.splitlines() if (entry := _entry(line))]
    return {entry.number: entry for entry in entries}, len(whole)


def append_entry(directory: Path, entry: Entry) -> None:
    """Raises OSError where the disk is full, and leaves no half a line."""
    line = line_of(entry)
    with (directory / TABLE).open("ab", buffering=0) as table:
        size = table.tell()
        if table.write(line) < len(line):
            table.truncate(size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory / TABLE))


def _entry(line: bytes) -> Entry | None:
    try:
        body: dict[str, Any] = json.loads(line)
        return Entry(body["number"], body["name"], body["generation"], body["node"], body["rank"])
    except (ValueError, KeyError, TypeError):
        return None
