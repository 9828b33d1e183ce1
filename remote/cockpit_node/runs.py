"""The orders that concern runs, and how the runs of a node stand. docs/protocol.md, "Verbs"."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Collection

from cockpit_node import claim as claims
from cockpit_node import orders, processes, records, states
from cockpit_node.node import Node
from cockpit_node.paths import RunPaths, attempts
from cockpit_node.prepare import prepare
from cockpit_node.refused import Refused
from cockpit_node.states import RunState, run_state
from cockpit_node.undo import revive, undo

__all__ = [
    "Node",
    "abort",
    "confirm",
    "go",
    "look",
    "prepare",
    "runs",
    "signal_ranks",
    "stop",
]

GO_S = 14.0
POLL_S = 0.02


def go(node: Node, run: str, attempt: int, port: int | None) -> None:
    """Returns once the launcher runs; giving the order again changes nothing."""
    paths = node.paths(run, attempt)
    with claims.only_one(paths):
        _must_be_here(paths)
        if os.path.exists(paths.abort):
            raise Refused("Aborted", f"attempt {attempt} was aborted here", retry=True)
        if not os.path.exists(paths.go):
            orders.give(paths.go, {"port": port})
    _await_started(paths)


def confirm(node: Node, run: str, attempt: int) -> None:
    """Every node of the gang has started."""
    paths = node.paths(run, attempt)
    _must_be_here(paths)
    orders.mark(paths.confirm)


def stop(node: Node, run: str, attempt: int, grace_s: float, reason: str) -> None:
    """Order the end; it comes by itself. Asking again can only shorten the grace."""
    paths = node.paths(run, attempt)
    _must_be_here(paths)
    if records.whole(records.read_if_whole(paths.exit), "leftovers") == 0:
        return
    orders.give(paths.stop, {"grace_s": grace_s, "reason": reason})
    revive(node, paths)


def abort(node: Node, run: str, attempt: int, claim: str | None = None) -> None:
    """Take a start back; `claim` says which try, None whichever is here."""
    undo(node, node.paths(run, attempt), claim)


def signal_ranks(node: Node, run: str, attempt: int, name: str) -> dict[str, Any]:
    """Signal the ranks that have a handler for it; any other would die of it, and its peers too."""
    if name not in signal.Signals.__members__:
        raise Refused("BadSignal", f"{name!r:.40} is no signal; SIGUSR1 is one")
    number = signal.Signals[name]
    paths = node.paths(run, attempt)
    _must_be_here(paths)
    signalled: list[int] = []
    deaf: list[int] = []
    for rank, process in states.ranks(paths, node.table()):
        hears = processes.catches(process.pid, number)
        heard = hears and processes.send(process.identity, number)
        (signalled if heard else deaf).append(rank)
    return {"signalled": signalled, "without_handler": deaf}


def runs(node: Node, of: Collection[tuple[str, int]] | None = None) -> list[RunState]:
    """Every attempt here whose end is not on record, and those of `of`; all there are for None.

    Nothing prunes what has ended, so that a year's runs must not make the answer long.
    """
    everyone = node.table()
    return [
        run_state(paths, everyone)
        for paths in attempts(node.root, node.name)
        if of is None or (paths.run, paths.attempt) in of or not records.has_end(paths.exit)
    ]


def look(node: Node, run: str, attempt: int) -> RunState:
    """One attempt, by a process table of this moment."""
    return run_state(node.paths(run, attempt), node.table())


def _await_started(paths: RunPaths) -> None:
    give_up = time.monotonic() + GO_S
    while True:
        record = records.read_if_whole(paths.supervisor)
        state = records.text(record, "state")
        if record is not None and record.get("launcher") is not None:
            return
        if state == "ended":
            reason = records.text(records.read_if_whole(paths.exit), "reason")
            raise Refused("NoProgram", reason or "it ended before it started")
        if record is None or state == "refused":
            raise Refused("Gone", "its preparation was undone; prepare it again", retry=True)
        if time.monotonic() > give_up:
            message = f"the supervisor did not start the job within {GO_S:g} s"
            raise Refused("Fault", f"{message}; abort it", retry=True)
        time.sleep(POLL_S)


def _must_be_here(paths: RunPaths) -> None:
    if not claims.is_here(paths):
        message = f"attempt {paths.attempt} of run {paths.run} is not on node {paths.node}"
        raise Refused("Gone", f"{message}; it was never prepared there, or undone", retry=True)
