"""Which processes belong to a run, found three ways so that none escapes."""

from __future__ import annotations

import os
from typing import Iterable, NamedTuple

from cockpit_node.processes import Identity, Process, environ, table, variable

MARKER = b"COCKPIT_RUN"


class RankProcess(NamedTuple):
    """The process that is one rank; its data loaders are not."""

    rank: int
    process: Process


class Members:
    """The processes of one attempt on one node, the supervisor excepted.

    Found as descendants of the supervisor (a subreaper, so that nothing leaves its tree), by
    the marker in their environment, and as those seen before together with their sessions. A
    session counts only while a process that was seen in it lives, or has not been waited for: its
    number cannot have been given to anyone else since.
    """

    def __init__(
        self,
        marker: str | None,
        ancestor: int | None = None,
        known: Iterable[Identity] = (),
        since: int = 0,
        name: bytes = MARKER,
    ) -> None:
        self._name = name
        """The variable that holds the marker."""
        self._marker = None if marker is None else marker.encode()
        """None where nothing can have left the tree, and reading every environment is wasted."""
        self._ancestor = ancestor
        self._since = since
        """Clock ticks; the environment of what is older need not be read."""
        self.known = set(known)
        """Who was seen in the tree so far and may still live."""

    def scan(self, everyone: dict[int, Process] | None = None) -> list[Process]:
        """The living members now. Costs one look at every process."""
        everyone = table() if everyone is None else everyone
        seen = self._with_sessions(self._descendants(everyone) | self._seen(everyone), everyone)
        self.known = {everyone[pid].identity for pid in seen}
        others = (p for p in everyone.values() if p.pid not in seen and p.start >= self._since)
        found = (seen | self._marked(others)) - {os.getpid(), self._ancestor}
        return [everyone[pid] for pid in sorted(found) if everyone[pid].lives]

    def _seen(self, everyone: dict[int, Process]) -> set[int]:
        rows = (everyone.get(identity.pid) for identity in self.known)
        if self._marker is None:
            return set()
        return {row.pid for row in rows if row is not None and row.identity in self.known}

    def _with_sessions(self, seen: set[int], everyone: dict[int, Process]) -> set[int]:
        """`seen` and all that share a session with them, which only their tree can have made."""
        ours = (everyone.get(pid) for pid in (os.getpid(), self._ancestor) if pid is not None)
        apart = {0} | {row.session for row in ours if row is not None}
        sessions = {everyone[pid].session for pid in seen} - apart
        seen = seen | {row.pid for row in everyone.values() if row.session in sessions}
        return seen - {os.getpid(), self._ancestor}

    def _descendants(self, everyone: dict[int, Process]) -> set[int]:
        if self._ancestor is None:
            return set()
        children: dict[int, list[int]] = {}
        for row in everyone.values():
            children.setdefault(row.parent, []).append(row.pid)
        found: set[int] = set()
        waiting = [self._ancestor]
        while waiting:
            for child in children.get(waiting.pop(), ()):
                found.add(child)
                waiting.append(child)
        return found

    def _marked(self, rows: Iterable[Process]) -> set[int]:
        if self._marker is None:
            return set()
        return {row.pid for row in rows if variable(environ(row.pid), self._name) == self._marker}


def rank_processes(members: Iterable[Process]) -> list[RankProcess]:
    """Those of `members` that torchrun started as ranks, by rank."""
    ranks = {row.pid: (row, _rank(row.pid)) for row in members}
    found = []
    for row, rank in ranks.values():
        parent = ranks.get(row.parent)
        # A rank's children inherit its RANK; torchrun itself has none.
        if rank is not None and (parent is None or parent[1] != rank):
            found.append(RankProcess(rank, row))
    return sorted(found, key=lambda one: (one.rank, one.process.start))


def _rank(pid: int) -> int | None:
    block = environ(pid)
    value = variable(block, b"RANK")
    if value is None or variable(block, b"LOCAL_RANK") is None or not value.isdigit():
        return None
    return int(value) if len(value) < 8 else None
