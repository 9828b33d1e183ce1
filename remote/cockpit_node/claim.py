"""An attempt starts on a node once: its directory is claimed, or closed for ever, under one lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from typing import Iterator

from cockpit_node import records
from cockpit_node.identity import boot_id
from cockpit_node.orders import mark
from cockpit_node.paths import RunPaths
from cockpit_node.records import Record, Unreadable
from cockpit_node.refused import Refused


@contextlib.contextmanager
def only_one(paths: RunPaths) -> Iterator[None]:
    """Nobody else makes, opens or removes an attempt of this run meanwhile. Never wait inside."""
    descriptor = _lock(paths.run_directory)
    try:
        yield
    finally:
        # An empty directory would be a run that never was; it goes while we hold its lock.
        if not os.listdir(paths.run_directory):
            os.rmdir(paths.run_directory)
        os.close(descriptor)


def claim(paths: RunPaths, spec: Record, client: str, user: str) -> bool:
    """Whether the attempt is new; False if the same spec was claimed before. Raises Refused."""
    with only_one(paths):
        if os.path.exists(paths.aborted(str(spec["claim"]))):
            message = f"this start of attempt {paths.attempt} was aborted before; start it anew"
            raise Refused("Aborted", message)
        if os.path.exists(paths.spec) and not _is_over(paths):
            _must_equal(paths, spec)
            return False
        # Over, or left by an agent that died in the middle of claiming; nothing of it runs.
        remove(paths)
        os.mkdir(paths.directory, 0o700)
        claimed = {"client": client, "user": user, "time": time.time(), "boot_id": boot_id()}
        try:
            records.replace(paths.claim, claimed, lasting=True)
            records.replace(paths.spec, spec, lasting=True)
            records.sync_directory(paths.run_directory)
            records.sync_directory(paths.node_directory)
        except OSError:
            remove(paths)
            raise
        return True


def close(paths: RunPaths, claim: str | None) -> bool:
    """Never let this claim start again; whether it is here and has now been told to end.

    Without a claim, whichever holds the attempt is meant.
    """
    with only_one(paths):
        if claim is not None:
            mark(paths.aborted(claim))
        if not is_here(paths) or not _is_held_by(paths, claim):
            return False
        mark(paths.abort)
        return True


def tidy(paths: RunPaths) -> None:
    """Remove an attempt that was aborted and has ended; another claim may take its place."""
    with only_one(paths):
        if _is_over(paths):
            remove(paths)


def remove(paths: RunPaths) -> None:
    """Take the attempt's directory away, in one move. The caller holds `only_one`."""
    gone = os.path.join(paths.run_directory, f".{paths.attempt}.removed")
    shutil.rmtree(gone, ignore_errors=True)
    try:
        os.rename(paths.directory, gone)
    except FileNotFoundError:
        return
    shutil.rmtree(gone, ignore_errors=True)


def _is_over(paths: RunPaths) -> bool:
    """Whether it was undone, so that it counts as never started: refused, or aborted and ended."""
    try:
        supervisor, end = records.read(paths.supervisor), records.read(paths.exit)
    except Unreadable:
        return False
    if supervisor is not None and supervisor.get("state") == "refused":
        return True
    return os.path.exists(paths.abort) and end is not None and end.get("leftovers") == 0


def is_here(paths: RunPaths) -> bool:
    """Whether the attempt was claimed on this node, however its files look now."""
    return any(os.path.lexists(path) for path in (paths.spec, paths.supervisor))


def _is_held_by(paths: RunPaths, claim: str | None) -> bool:
    """True also where nobody can tell: whoever wrote the spec, it must be possible to end it."""
    try:
        record = records.read(paths.spec)
    except Unreadable:
        return True
    return claim is None or record is None or records.text(record, "claim") == claim


def _must_equal(paths: RunPaths, spec: Record) -> None:
    try:
        held = records.read(paths.spec) or {}
    except Unreadable as error:
        raise Refused("BadSpec", f"{error}; start the job as a new attempt") from error
    if held.get("claim") != spec["claim"]:
        message = f"attempt {paths.attempt} is still held here by an earlier start of it"
        raise Refused("Busy", message, retry=True)
    if held != spec:
        message = f"attempt {paths.attempt} was prepared with another spec; take a new attempt"
        raise Refused("BadSpec", message)


def _lock(directory: str) -> int:
    while True:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Who held it before may have removed it.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(directory), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)
