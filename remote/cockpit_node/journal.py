"""What a supervisor writes down about its run, so that others know without asking it."""

from __future__ import annotations

import os
import struct
from typing import Any, Callable, Iterable

from cockpit_node import records
from cockpit_node.identity import boot_id
from cockpit_node.paths import RunPaths
from cockpit_node.plain import read_plain, write_plain
from cockpit_node.processes import Identity, process
from cockpit_node.records import Record, Unreadable
from cockpit_node.refused import Refused
from cockpit_node.unessential import say, unessential

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

    def open(self) -> None:
        """Take the space that the end will need."""
        records.reserve(self._paths.exit)
        self.beat()

    def resume(self, record: Record) -> None:
        """Go on from what a dead supervisor wrote last."""
        self._record.update({key: record.get(key) for key in ("state", "port", "launcher")})
        self._count = read_beat(self._paths) or 0
        if not os.path.isfile(self._paths.exit):
            with unessential("no space could be taken for the exit record"):
                records.reserve(self._paths.exit)

    def beat(self) -> None:
        """Show that the supervisor lives."""
        self._count = (self._count + 1) % 2**32
        with unessential("the beat could not be written"):
            write_plain(self._paths.beat, _BEAT.pack(self._count))
        for path, record in list(self._unwritten.items()):
            self._put(path, record, records.replace)
        try:
            records.read(self._paths.supervisor)
        except Unreadable as error:
            say(f"{error}; it is written anew")
            self._put(self._paths.supervisor, self._record, _replace_for_good)

    def state(self, state: str, **fields: Any) -> None:
        """Move to `state`, with what else is new."""
        self._record.update(fields, state=state)
        # Where the disk is full, the record before this one left room to write in place.
        self._put(self._paths.supervisor, self._record, _replace_for_good, records.fill)

    def refused(self, refusal: Refused) -> None:
        self.state("refused", refusal=refusal.record())

    def streams(self, streams: list[Record]) -> None:
        """Which files the job writes."""
        record = {"version": VERSION, "streams": streams}
        self._put(self._paths.streams, record, records.replace)

    def known(self, identities: set[Identity]) -> None:
        """By whom to find the run, should this supervisor die."""
        if identities != self._known:
            self._known = set(identities)
            rows = [list(identity) for identity in sorted(identities)]
            record = {"version": VERSION, "processes": rows}
            self._put(self._paths.processes, record, records.replace)

    def exit(self, record: Record) -> None:
        """The last word; shortened until it fits."""
        lengths = (_shortened({"version": VERSION, **record}, limit) for limit in (1000, 300, 80))
        short = next(filter(records.fits, lengths), _shortened({"version": VERSION, **record}, 0))
        self._put(self._paths.exit, short, records.fill, records.replace)

    def _put(self, path: str, record: Record, *ways: Callable[[str, Record], None]) -> None:
        """Write it the first way that works. Where none does, as in a run directory that someone
        removed, the run goes on and ends all the same, and each beat tries again."""
        for way in ways:
            with unessential(f"{path} could not be written"):
                way(path, record)
                self._unwritten.pop(path, None)
                return
        self._unwritten[path] = record


def read_beat(paths: RunPaths) -> int | None:
    """The counter, None before the first beat."""
    try:
        data = read_plain(paths.beat, _BEAT.size)
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


def _replace_for_good(path: str, record: Record) -> None:
    records.replace(path, record, lasting=True)


def _shortened(record: Record, limit: int) -> Record:
    short = dict(record, reason=record["reason"][:limit])
    failure = record.get("first_failure")
    if failure is not None:
        short["first_failure"] = dict(failure, message=failure["message"][:limit])
    return short
