"""Removes old agents and trainers that nothing uses any more. Runs are a person's to remove."""

from __future__ import annotations

import os
import re

from cockpit_node.plain import read_plain
from cockpit_node.processes import environ, table
from cockpit_node.unessential import unessential

UNUSED_S = 30 * 86400.0
"""Seconds; what is in use is touched more often, also from other machines."""
_OURS = re.compile(r"([0-9a-f]{64})\.pyz|trainer-([0-9a-f]{64})\.zip(?:\.\d+\.tmp)?|\.agent-\w+")
_WORDS_LIMIT = 64 * 1024


def prune(directory: str, now: float) -> None:
    """Remove what is older than UNUSED_S at `now`, in Unix seconds, and named by no process."""
    with unessential(f"{directory} could not be tidied"):
        old = [name for name in _names(directory) if now - _time_of(directory, name) > UNUSED_S]
        used = b"\0".join(map(_words, table())) if old else b""
        for name in old:
            if _hash(name).encode() not in used:
                os.unlink(os.path.join(directory, name))


def _names(directory: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if _OURS.fullmatch(name)]
    except FileNotFoundError:
        return []


def _hash(name: str) -> str:
    """What a process that uses the file has among its words, and one that is about to."""
    found = _OURS.fullmatch(name)
    return (found and (found.group(1) or found.group(2))) or name


def _time_of(directory: str, name: str) -> float:
    return os.lstat(os.path.join(directory, name)).st_mtime


def _words(pid: int) -> bytes:
    """What a process was started with: supervisors name their agent, ranks their trainer."""
    try:
        return read_plain(f"/proc/{pid}/cmdline", _WORDS_LIMIT) + environ(pid)
    except OSError:
        return b""
