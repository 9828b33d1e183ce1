"""Finding and ending every process that a practice cluster started, on Linux by /proc."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cockpit_remote.practice.layout import PracticePaths

PRACTICE_MARK = "GPU_COCKPIT_PRACTICE"
"""In the environment of whatever runs on a practice node: the cluster's directory.

Jobs do not inherit names that begin with COCKPIT_, and they must have this one.
"""
RUN_MARK = "COCKPIT_RUN"
"""In the environment of every process of a run: `<run id>/<attempt>/<node>`."""
MAX_RECORD = 64 * 1024
"""Bytes of a supervisor's record; jobs can write there, so a longer one is not read."""

_PROC = Path("/proc")
_SCAN_PAUSE_S = 0.03


@dataclass(frozen=True, slots=True)
class Process:
    """One process, told from a later one of the same number by its start."""

    pid: int
    start: int
    """Clock ticks from boot to its start."""
    parent: int = field(compare=False)
    environ: Mapping[str, str] = field(compare=False, repr=False)
    """Empty where it may not be read."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What was ended, and what would not end."""

    runs: frozenset[str]
    """Run ids whose processes were alive."""
    left: tuple[Process, ...]
    """Still alive at the limit: the kernel holds them."""


def end_all(directory: Path, limit_s: float = 10.0) -> Ending:
    """Kill all that the cluster in `directory` started, and look again until twice nothing is left.

    Each round stops everything first, so that nothing forks away while it is being killed.
    """
    deadline = time.monotonic() + limit_s
    runs: set[str] = set()
    empty_scans = 0
    while empty_scans < 2:
        found = _stop_all(directory, deadline)
        runs |= {process.environ.get(RUN_MARK, "").partition("/")[0] for process in found}
        _signal(found, signal.SIGKILL)
        if found and time.monotonic() > deadline:
            left = tuple(sorted(find(directory), key=lambda process: process.pid))
            return Ending(frozenset(runs - {""}), left)
        empty_scans = 0 if found else empty_scans + 1
        time.sleep(_SCAN_PAUSE_S)
    return Ending(frozenset(runs - {""}), ())


def find(directory: Path) -> set[Process]:
    """The living processes of the cluster in `directory`: marked, recorded, or descended from one.

    The process that asks is never among them.
    """
    processes = {process.pid: process for process in _living()}
    runs, recorded = _records(directory)
    found = {
        process
        for process in processes.values()
        if process.environ.get(PRACTICE_MARK) == str(directory)
        or process.environ.get(RUN_MARK) in runs
        or (process.pid, process.start) in recorded
    }
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    pending = list(found)
    while pending:
        for child in children.get(pending.pop().pid, []):
            if child not in found:
                found.add(child)
                pending.append(child)
    return {process for process in found if process.pid != os.getpid()}


def _stop_all(directory: Path, deadline: float) -> set[Process]:
    stopped: set[Process] = set()
    while new := find(directory) - stopped:
        _signal(new, signal.SIGSTOP)
        stopped |= new
        if time.monotonic() > deadline:
            break
    return stopped


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            if _stat(process.pid)[2] == process.start:
                os.kill(process.pid, number)
        except ProcessLookupError:
            continue  # It ended by itself.


def _living() -> Iterator[Process]:
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent, start = _stat(int(entry.name))
            environ = _environ(entry / "environ")
        except ProcessLookupError:
            continue  # It ended while it was read.
        if state not in "ZX":
            yield Process(int(entry.name), start, parent, environ)


def _stat(pid: int) -> tuple[str, int, int]:
    """State, parent and start of a process; ProcessLookupError where there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise ProcessLookupError(pid) from error
    # The name comes second, in parentheses, and may itself contain spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[19])


def _environ(path: Path) -> dict[str, str]:
    try:
        content = path.read_bytes()
    except PermissionError:
        return {}  # Another user's: nobody's practice node.
    except FileNotFoundError as error:
        raise ProcessLookupError(path) from error
    pairs = (os.fsdecode(item).partition("=") for item in content.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


def _records(directory: Path) -> tuple[set[str], set[tuple[int, int]]]:
    """From the run directories: the run marks, and supervisors and launchers as (pid, start)."""
    runs: set[str] = set()
    recorded: set[tuple[int, int]] = set()
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    for path in (path for node in PracticePaths(directory).nodes() for path in node.records()):
        node, run, attempt = path.parts[-4:-1]
        runs.add(f"{run}/{attempt}/{node}")
        supervisor = _record(path)
        if supervisor.get("boot_id") != boot:
            continue
        for entry in (supervisor, supervisor.get("launcher")):
            match entry:
                case {"pid": int(pid), "start": int(start)}:
                    recorded.add((pid, start))
    return runs, recorded


def _record(path: Path) -> dict[str, object]:
    """One supervisor's record, or nothing where a job has put something else in its place."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(MAX_RECORD))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
