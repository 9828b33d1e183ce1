"""The keeper of one attempt on one node: detached, it outlives every link and reports by files."""

from __future__ import annotations

import fcntl
import os

from cockpit_node import records
from cockpit_node.paths import RunPaths
from cockpit_node.records import Record, Unreadable, text
from cockpit_node.refused import Refused
from cockpit_node.spec import Spec, parse, stand_in
from cockpit_node.supervisor import Supervisor
from cockpit_node.unessential import say


def main(directory: str) -> int:
    """Supervise the attempt in `directory`; the caller's process returns at once."""
    paths = RunPaths.at(directory)
    if os.fork():
        # Whoever started us waits for this process only.
        return 0
    os.setsid()
    os.chdir("/")
    inherited = os.umask(0o077)
    # The agent narrowed its own; a job writes what its user's group may read.
    umask = int(os.environ.get("COCKPIT_NODE_UMASK") or f"{inherited:o}", 8)
    lock = _only_supervisor(paths)
    if lock is None:
        return 0
    spec, before = _spec(paths), _before(paths)
    supervisor = Supervisor(paths, spec, umask)
    if before is None and spec.argv:
        supervisor.run()
    elif text(before, "state") != "refused" and not records.has_end(paths.exit):
        supervisor.adopt(before or {})
    return 0


def _spec(paths: RunPaths) -> Spec:
    try:
        return parse(records.read(paths.spec))
    except (Unreadable, Refused) as error:
        say(f"{paths.spec}: {error}; going on by the marker of the run")
        return stand_in(paths)


def _before(paths: RunPaths) -> Record | None:
    """What an earlier supervisor wrote last; None if there was none."""
    try:
        return records.read(paths.supervisor)
    except Unreadable as error:
        say(f"{error}; going on by the marker of the run")
        return {}


def _only_supervisor(paths: RunPaths) -> int | None:
    """The lock on the run directory, held until we die; None if another supervisor has it."""
    try:
        descriptor = os.open(paths.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return descriptor
