"""Which checkpoints lie in a directory, and which of them are whole; torch is not needed to tell.

A checkpoint is a directory `step-<number>` with a manifest.json, written last: {"version": 1,
"step", "world_size", "time", "files": {name: {"bytes", "sha256"}}}.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Dict, NamedTuple

from cockpit_node import records
from cockpit_node.records import Record, Unreadable

_DIRECTORY = re.compile(r"step-([0-9]{1,15})")
_MANIFEST_VERSION = 1

Checkpoint = Dict[str, Any]
"""{step, path, complete, reason, bytes, time, world_size}; `reason` says why it is not complete."""


MAX_LISTED = 1000
"""The newest; each costs a look at all its files."""


class Listing(NamedTuple):
    """What lies in a directory."""

    checkpoints: list[Checkpoint]
    """Newest step first."""
    left_out: int
    """How many older ones are there besides."""


class _Incomplete(Exception):
    """Why a checkpoint must not be used."""


def checkpoints(directory: str) -> Listing:
    """The newest; none where there is no such directory."""
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return Listing([], 0)
    matches = (_DIRECTORY.fullmatch(name) for name in names)
    found = sorted((int(match.group(1)), match.group(0)) for match in matches if match)[::-1]
    listed = [_look(os.path.join(directory, name), step) for step, name in found[:MAX_LISTED]]
    return Listing(listed, len(found) - len(listed))


def _look(path: str, step: int) -> Checkpoint:
    seen: Checkpoint = {
        "step": step,
        "path": path,
        "complete": False,
        "reason": None,
        "bytes": None,
        "time": None,
        "world_size": None,
    }
    try:
        manifest = _manifest(path, step)
        seen["time"] = records.number(manifest, "time")
        seen["world_size"] = records.whole(manifest, "world_size")
        seen["bytes"] = _bytes_of_files(path, manifest)
        seen["complete"] = True
    except _Incomplete as why:
        seen["reason"] = str(why)
    return seen


def _manifest(path: str, step: int) -> Record:
    if os.path.islink(path) or not os.path.isdir(path):
        raise _Incomplete("it is not a directory")
    try:
        manifest = records.read(os.path.join(path, "manifest.json"))
    except Unreadable as error:
        raise _Incomplete(str(error)) from error
    if manifest is None:
        raise _Incomplete("it has no manifest.json: it was never finished")
    if manifest.get("version") != _MANIFEST_VERSION:
        raise _Incomplete(f"its manifest has version {manifest.get('version')!r:.40}")
    if records.whole(manifest, "step") != step:
        raise _Incomplete(f"its manifest is of step {manifest.get('step')!r:.40}")
    return manifest


def _bytes_of_files(path: str, manifest: Record) -> int:
    """The size of all files in the manifest, each as long as it must be."""
    files = records.nested(manifest, "files")
    if not files:
        raise _Incomplete("its manifest names no files")
    return sum(_bytes_of(path, name, entry) for name, entry in files.items())


def _bytes_of(path: str, name: str, entry: object) -> int:
    promised = records.whole(entry if isinstance(entry, dict) else None, "bytes")
    if promised is None or promised < 0:
        raise _Incomplete(f"its manifest does not say how long {name!r:.80} is")
    if not name or "\0" in name or name in (".", "..") or "/" in name:
        raise _Incomplete(f"its manifest names {name!r:.80}, which is no file of it")
    try:
        seen = os.lstat(os.path.join(path, name))
    except (OSError, ValueError):
        # No file has a name that is no text.
        raise _Incomplete(f"{name!r:.80} is missing") from None
    if not stat.S_ISREG(seen.st_mode):
        raise _Incomplete(f"{name!r:.80} is not a plain file")
    if seen.st_size != promised:
        raise _Incomplete(f"{name!r:.80} has {seen.st_size} of {promised} bytes")
    return promised
