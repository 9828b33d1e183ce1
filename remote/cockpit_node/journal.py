"""What a supervisor writes down about its run, so that others know without asking it."""

from __future__ import annotations

import os
import struct
import sys
from typing import Any, Iterable

from cockpit_node import records
from cockpit_node.identity import boot_id
from cockpit_node.paths import RunPaths
from cockpit_node.processes import Identity, process
from cockpit_node.records import Record, Unreadable
from cockpit_node.refused import Refused

VERSION = 1
_BEAT = struct.Struct(">I")


class Journal:
    """sup.json, beat, ranks.json, processes.json and exit.json of one attempt.

    A full disk costs none of what a person needs to know: sup.json and exit.json have their
    space from the start, and whatever could not be written is tried again at the next beat.
    """

    def __init__(self, paths: RunPaths) -> None:
        self._paths = paths
        self._count = 0
        self._unwritten: dict[str, Record] = {}
        self._known: set[Identity] = set()
        own = process(os.getpid())
        self._record: Record = {
            "version": VERSION,
            "pid": os.getpid(),
            "start": own.start if own else 0,
            "boot_id": boot_id(),
            "state": "unknown",
            "port": None,
            "launcher": None,
            "refusal": None,
        }
        self._beat = os.open(paths.beat, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def open(self) -> None:
        """Take the space that the end will need."""
        records.reserve(self._paths.exit)
        self.beat()

    def resume(self, record: Record) -> None:
        """Go on from what a dead supervisor wrote last."""
        self._record.update({key: record.get(key) for key in ("state", "port", "launcher")})
        self._count = read_beat(self._paths) or 0
        if not os.path.exists(self._paths.exit):
            records.reserve(self._paths.exit)

    def beat(self) -> None:
        """Show that the supervisor lives."""
        self._count = (self._count + 1) % 2**32
        os.pwrite(self._beat, _BEAT.pack(self._count), 0)
        for path, record in list(self._unwritten.items()):
            self._write(path, record)

    def state(self, state: str, **fields: Any) -> None:
        """Move to `state`, with what else is new."""
        self._record.update(fields, state=state)
        path = self._paths.supervisor
        try:
            records.replace(path, self._record)
        except OSError:
            # The disk is full; the record before this one left room to write in place.
            self._fill(path, self._record)

    def refused(self, refusal: Refused) -> None:
        self.state("refused", refusal=refusal.record())

    def streams(self, streams: list[Record]) -> None:
        """Which files the job writes."""
        self._write(self._paths.streams, {"version": VERSION, "streams": streams})

    def known(self, identities: set[Identity]) -> None:
        """By whom to find the run, should this supervisor die."""
        if identities != self._known:
            self._known = set(identities)
            rows = [list(identity) for identity in sorted(identities)]
            self._write(self._paths.processes, {"version": VERSION, "processes": rows})

    def exit(self, record: Record) -> None:
        """The last word; shortened until it fits."""
        for limit in (1000, 300, 80, 0):
            short = _shortened({"version": VERSION, **record}, limit)
            try:
                return self._fill(self._paths.exit, short)
            except ValueError:
                continue

    def _fill(self, path: str, record: Record) -> None:
        try:
            records.fill(path, record)
        except FileNotFoundError:
            # Someone removed the run directory. The run must end all the same, unrecorded.
            sys.stderr.write(f"{path} is gone; it would have said {record}\n")

    def _write(self, path: str, record: Record) -> None:
        try:
            records.replace(path, record)
        except OSError:
            self._unwritten[path] = record
        else:
            self._unwritten.pop(path, None)


def read_beat(paths: RunPaths) -> int | None:
    """The counter, None before the first beat."""
    try:
        with open(paths.beat, "rb") as file:
            data = file.read(_BEAT.size)
    except OSError:
        return None
    return int(_BEAT.unpack(data)[0]) if len(data) == _BEAT.size else None


def read_known(paths: RunPaths) -> list[Identity]:
    """Identities that a supervisor wrote down; none where the file is unreadable."""
    try:
        record = records.read(paths.processes)
    except Unreadable:
        return []
    rows: Iterable[Any] = (record or {}).get("processes") or ()
    return [
        Identity(row[0], row[1])
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, list) and len(row) == 2 and all(type(item) is int for item in row)
    ]


def _shortened(record: Record, limit: int) -> Record:
    short = dict(record, reason=record["reason"][:limit])
    failure = record.get("first_failure")
    if failure is not None:
        short["first_failure"] = dict(failure, message=failure["message"][:limit])
    return short
