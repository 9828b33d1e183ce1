"""Ends every process of a run, and proves that none is left."""

from __future__ import annotations

import signal
import time
from typing import Callable

from cockpit_node.members import Members
from cockpit_node.processes import Process, send

PROOFS = 2
"""Empty scans in a row that count as proof."""
LIMIT_S = 10.0
"""How long to try; a process in state D takes no signal."""
PAUSE_S = 0.02


def kill(
    members: Members,
    reap: Callable[[], None],
    spare: frozenset[int] = frozenset(),
    limit_s: float = LIMIT_S,
) -> list[Process]:
    """SIGKILL all members but those pids in `spare`; returns who lived on.

    All are stopped before any is killed, so that none can fork meanwhile. `reap` waits for
    children that have ended; orphans of the run are the supervisor's.
    """
    give_up = time.monotonic() + limit_s
    empty = 0
    while True:
        left = [row for row in members.scan() if row.pid not in spare]
        empty = 0 if left else empty + 1
        if empty == PROOFS or time.monotonic() >= give_up:
            return left
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for row in left:
                send(row.identity, number)
        reap()
        time.sleep(PAUSE_S)
        reap()


def describe(left: list[Process]) -> str:
    """Who is left, for a person."""
    names = ", ".join(f"pid {row.pid} (state {row.state})" for row in left[:8])
    return f"{len(left)} processes could not be killed: {names}"
