"""The keeper of one attempt on one node: detached, it outlives every link and reports by files."""

from __future__ import annotations

import fcntl
import os
import sys

from cockpit_node import records
from cockpit_node.paths import RunPaths
from cockpit_node.records import Unreadable
from cockpit_node.spec import parse
from cockpit_node.supervisor import Supervisor


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
    spec = parse(records.read(paths.spec))
    supervisor = Supervisor(paths, spec, umask)
    try:
        before = records.read(paths.supervisor)
    except Unreadable as error:
        sys.stderr.write(f"{error}; going on by the marker of the run\n")
        before = {}
    if before is None:
        supervisor.run()
    elif before.get("state") != "refused" and not _has_ended(paths):
        supervisor.adopt(before)
    return 0


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


def _has_ended(paths: RunPaths) -> bool:
    try:
        record = records.read(paths.exit)
    except Unreadable:
        return False
    return record is not None and record.get("leftovers") == 0
