"""What is to be said about a run from what its directory and /proc show, whoever wrote there."""

from __future__ import annotations

import os
import stat
from typing import Any, Dict

from cockpit_node import records
from cockpit_node.claim import is_here
from cockpit_node.identity import boot_id
from cockpit_node.journal import read_beat, read_known
from cockpit_node.leases import is_locked
from cockpit_node.members import Members, RankProcess, rank_processes
from cockpit_node.paths import RunPaths
from cockpit_node.processes import Identity, Process, lives, table
from cockpit_node.records import Record, Unreadable, nested, number, rows, text, whole
from cockpit_node.refused import Refused
from cockpit_node.spec import Spec, parse

RunState = Dict[str, Any]
"""docs/protocol.md, "RunState"; and `message`, which says what could not be read."""

_KEPT = frozenset({"prepared", "started", "confirmed", "stopping"})
"""States that hold only while the supervisor lives."""


def run_state(paths: RunPaths, everyone: dict[int, Process]) -> RunState:
    """One attempt on this node; `everyone` is a process table, which may be a little old."""
    view = _View(paths, everyone)
    state, members = view.state()
    spec, supervisor = view.spec, view.supervisor
    return {
        "type": "run",
        "run": paths.run,
        "attempt": paths.attempt,
        "node": paths.node,
        "node_rank": spec.node_rank if spec else None,
        "name": spec.name if spec else "",
        "user": spec.user if spec else "",
        "state": state,
        "message": view.message,
        "beat": read_beat(paths),
        "port": whole(supervisor, "port"),
        "units": list(spec.units) if spec else [],
        "checkpoint_dir": spec.checkpoints(paths) if spec else None,
        "streams": _streams(view.read(paths.streams)),
        "processes": None if members is None else len(members),
        "ranks": [{"rank": one.rank, "pid": one.process.pid} for one in view.ranks(members)],
        "refusal": _refusal(nested(supervisor, "refusal")),
        "exit": _exit(view.end),
    }


def ranks(paths: RunPaths, everyone: dict[int, Process]) -> list[RankProcess]:
    """The processes that are ranks of this attempt."""
    view = _View(paths, everyone)
    _, members = view.state()
    return view.ranks(members)


def supervisor_lives(paths: RunPaths) -> bool:
    """Whether someone carries out the orders in the run directory."""
    return _View(paths, {}).supervised


class _View:
    """The files of one attempt as far as they can be read; the first that cannot is the message."""

    def __init__(self, paths: RunPaths, everyone: dict[int, Process]) -> None:
        self._paths = paths
        self._everyone = everyone
        self.message: str | None = None
        self.spec = self._parsed(self.read(paths.spec))
        self.supervisor = self.read(paths.supervisor)
        self.supervised = self._is_supervised()
        # Once more: one that has died has written before, and another may have come.
        if not self.supervised:
            self.supervisor = self.read(paths.supervisor)
            self.supervised = self._is_supervised()
        self.end = self.read(paths.exit)

    def read(self, path: str) -> Record | None:
        try:
            return records.read(path)
        except Unreadable as error:
            self.message = self.message or str(error)
            return None

    def state(self) -> tuple[str, list[Process] | None]:
        """The state, and the processes where they were looked for."""
        said = text(self.supervisor, "state")
        left = whole(self.end, "leftovers")
        if not is_here(self._paths):
            self.message = "nothing is known here of this attempt"
            return "unknown", None
        if self.end is not None and left is not None:
            return self._ending(left)
        if said == "refused":
            return said, []
        if not self._has_reported():
            self.message = self.message or "no supervisor has reported yet"
            return "unknown", None
        members = self._members()
        if self.supervised:
            return (said if said in _KEPT else "unknown"), members
        if not members and self._may_lack_some():
            self._everyone = table()
            members = self._members()
        return ("unsupervised" if members else "lost"), members

    def _ending(self, left: int) -> tuple[str, list[Process]]:
        """It has ended once everything is gone and its units are free."""
        members = self._members() if left else []
        freed = not self.supervised or text(self.supervisor, "state") == "ended"
        return ("ended" if freed and not members else "stopping"), members

    def ranks(self, members: list[Process] | None) -> list[RankProcess]:
        """Those of `members` that are ranks."""
        if not members:
            return []
        if self.spec is None or self.spec.is_torchrun:
            return rank_processes(members)
        launcher = launcher_of(self.supervisor)
        return [RankProcess(0, row) for row in members if row.identity == launcher]

    def _parsed(self, record: Record | None) -> Spec | None:
        if record is None:
            self.message = self.message or f"{self._paths.spec} is gone"
            return None
        try:
            return parse(record)
        except Refused as refusal:
            self.message = f"{self._paths.spec}: {refusal.message}"
            return None

    def _has_reported(self) -> bool:
        """Whether a supervisor ever came; if its record is gone, by what else there is."""
        if os.path.lexists(self._paths.supervisor) or os.path.lexists(self._paths.beat):
            return True
        return self._boot() not in ("", boot_id())

    def _is_supervised(self) -> bool:
        keeper = _identity(self.supervisor)
        if keeper is None:
            # Its record is unreadable; the lock it holds is not.
            return is_locked(self._paths.directory)
        # Not by the table, which may be older than the supervisor.
        return self._boot() == boot_id() and lives(keeper)

    def _boot(self) -> str:
        """Which boot of the node it was last of; "" where nothing says so."""
        said = text(self.supervisor, "boot_id")
        return said or text(records.read_if_whole(self._paths.claim), "boot_id")

    def _members(self) -> list[Process]:
        known = read_known(self._paths) if self._boot() == boot_id() else ()
        keeper = _identity(self.supervisor)
        if self.supervised and keeper is not None:
            # Below a subreaper nothing gets lost, so no environment need be read.
            return Members(None, ancestor=keeper.pid, known=known).scan(self._everyone)
        return Members(self._paths.marker, known=known).scan(self._everyone)

    def _may_lack_some(self) -> bool:
        """Whether the supervisor was alive when the table was taken, or not yet born."""
        keeper = _identity(self.supervisor)
        if keeper is None:
            return True
        row = self._everyone.get(keeper.pid)
        newest = max((one.start for one in self._everyone.values()), default=0)
        return (row is not None and row.start == keeper.start) or keeper.start >= newest


def launcher_of(supervisor: Record | None) -> Identity | None:
    """Who was started, as sup.json has it."""
    return _identity(nested(supervisor, "launcher"))


def _identity(record: Record | None) -> Identity | None:
    pid, start = whole(record, "pid"), whole(record, "start")
    return None if pid is None or start is None else Identity(pid, start)


def _streams(record: Record | None) -> list[Record]:
    found: list[Record] = []
    for row in rows(record, "streams"):
        name, path = text(row, "name", 80), text(row, "path")
        if name and os.path.isabs(path):
            size = _size(path)
            fields = {"rank": whole(row, "rank"), "stream": text(row, "stream", 20), "size": size}
            found.append({"name": name, **fields})
    return found


def _size(path: str) -> int:
    """Bytes; 0 for what is not there or is no file."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return 0
    return seen.st_size if stat.S_ISREG(seen.st_mode) else 0


def _refusal(record: Record | None) -> Record | None:
    if record is None:
        return None
    message, retry = text(record, "message"), record.get("retry") is True
    return {"code": text(record, "code", 40), "message": message, "retry": retry}


def _exit(record: Record | None) -> Record | None:
    if record is None:
        return None
    failure = nested(record, "first_failure")
    return {
        "code": whole(record, "code"),
        "signal": text(record, "signal", 20) or None,
        "stopped": record.get("stopped") is True,
        "reason": text(record, "reason"),
        "first_failure": failure and _failure(failure),
        "leftovers": whole(record, "leftovers"),
        "started": number(record, "started"),
        "ended": number(record, "ended"),
    }


def _failure(record: Record) -> Record:
    return {
        "rank": whole(record, "rank"),
        "code": whole(record, "code"),
        "signal": text(record, "signal", 20) or None,
        "message": text(record, "message"),
    }
