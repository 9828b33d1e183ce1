"""Takes a start back: whatever was prepared or runs here of one claim is ended and removed."""

from __future__ import annotations

import os
import time

from cockpit_node import claim as claims
from cockpit_node import records
from cockpit_node.kill import LIMIT_S
from cockpit_node.members import Members
from cockpit_node.node import Node
from cockpit_node.paths import RunPaths
from cockpit_node.refused import Refused
from cockpit_node.start import start_supervisor
from cockpit_node.states import supervisor_lives

POLL_S = 0.05
UNDO_S = 2 * LIMIT_S + 5
"""For the supervisor to notice, to kill, and to prove it."""


def undo(node: Node, paths: RunPaths, claim: str | None) -> None:
    """Returns once nothing of `claim` is left, and none of it can come. Raises Refused if it is."""
    if not claims.close(paths, claim):
        return
    revive(node, paths)
    give_up = time.monotonic() + UNDO_S
    while not _is_empty(node, paths):
        if time.monotonic() > give_up:
            left = (
                records.text(records.read_if_whole(paths.exit), "reason")
                or "its supervisor has not answered"
            )
            message = f"attempt {paths.attempt} could not be ended within {UNDO_S:g} s: {left}"
            raise Refused("Leftovers", f"{message}; look at node {paths.node}", retry=True)
        time.sleep(POLL_S)
    claims.tidy(paths)


def revive(node: Node, paths: RunPaths) -> None:
    """See to it that someone carries out the orders; a supervisor may have been killed."""
    if not supervisor_lives(paths):
        start_supervisor(paths)


def _is_empty(node: Node, paths: RunPaths) -> bool:
    """Whether it is over and the units are free."""
    if not os.path.lexists(paths.directory):
        # Someone else undid it, or removed it; in the latter case its supervisor still ends it.
        return not Members(paths.marker).scan(node.table())
    state = records.text(records.read_if_whole(paths.supervisor), "state")
    left = records.whole(records.read_if_whole(paths.exit), "leftovers")
    freed = state == "ended" or not supervisor_lives(paths)
    return state == "refused" or (left == 0 and freed)
