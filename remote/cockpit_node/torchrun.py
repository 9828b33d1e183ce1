"""What torchrun leaves behind: the ranks' files, and which rank failed first."""

from __future__ import annotations

import glob
import os
import re
from typing import NamedTuple

from cockpit_node import records
from cockpit_node.launcher import signal_name
from cockpit_node.outputs import RankFile
from cockpit_node.plain import open_plain
from cockpit_node.records import Unreadable
from cockpit_node.spec import Spec

_TAIL_LIMIT = 256 * 1024
"""Bytes at the end of a log that are looked at."""
_MESSAGE_LIMIT = 600
_FAILURE = re.compile(
    r"time\s*: (?P<time>\S+).*?"
    r"rank\s*: (?P<rank>\d{1,7}) \(local_rank: (?P<local>\d{1,7})\).*?"
    r"exitcode\s*: (?P<code>-?\d{1,5}) \(pid: (?P<pid>\d{1,9})\).*?"
    r"error_file: (?P<error_file>[^\n]*)",
    re.DOTALL,
)
_LINE = re.compile(r"failed \(exitcode: (-?\d{1,5})\) local_rank: (\d{1,7}) \(pid: (\d{1,9})\)")
_CRASHES = frozenset({-4, -6, -7, -8, -9, -11})
"""ILL, ABRT, BUS, FPE, KILL, SEGV. A dead peer gives a rank an exception: exit code 1."""


class Failure(NamedTuple):
    """The first rank that failed, as an exit record has it."""

    rank: int | None
    code: int | None
    """128 + n for a signal."""
    signal: str | None
    message: str


def rank_files(spec: Spec, logs: str) -> list[RankFile]:
    """Those that exist, by rank; none before torchrun has made its directory in `logs`."""
    attempts = glob.glob(os.path.join(glob.escape(logs), "*", "attempt_*"))
    if not attempts:
        return []
    # A directory that the user chose may hold other runs' files; ours are the newest.
    newest = max(attempts, key=_made_at)
    found = []
    for path in glob.glob(os.path.join(glob.escape(newest), "*", "std*.log")):
        local = os.path.basename(os.path.dirname(path))
        stream = os.path.basename(path)[: -len(".log")]
        if stream in ("stdout", "stderr") and local.isdigit() and int(local) < spec.nproc:
            found.append(RankFile(_global(spec, int(local)), stream, path))
    return sorted(found)


def _made_at(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0


def first_failure(spec: Spec, output: str, files: list[RankFile]) -> Failure | None:
    """The rank that failed first on this node, from torchrun's own account of it."""
    text = tail(output)
    table = text[text.rfind("\nFailures:") :] if "\nFailures:" in text else ""
    rows = [match.groupdict() for match in _FAILURE.finditer(table)]
    if rows:
        first = min(rows, key=lambda row: (row["time"], _rarity(int(row["code"]))))
        rank, code, error_file = int(first["rank"]), int(first["code"]), first["error_file"]
        return _failure(rank, code, _said(error_file) or _last_words(rank, files))
    lines = _LINE.findall(text)
    if not lines:
        return None
    rank = _global(spec, int(lines[0][1]))
    return _failure(rank, int(lines[0][0]), _last_words(rank, files))


def _rarity(code: int) -> int:
    """Of those that failed in one second, a crash came first; the TERMs were torchrun's."""
    return 0 if code in _CRASHES else 2 if code == -15 else 1


def _failure(rank: int, code: int, words: str) -> Failure:
    if code < 0:
        name = signal_name(-code)
        return Failure(rank, 128 - code, name, f"rank {rank} was ended by {name}")
    message = f"rank {rank} failed with exit code {code}"
    return Failure(rank, code, None, f"{message}: {words}" if words else message)


def _said(error_file: str) -> str:
    """The exception that a script decorated with @record left in its error file."""
    try:
        record = records.read(error_file) if os.path.isabs(error_file) else None
    except Unreadable:
        return ""
    message = (record or {}).get("message")
    if isinstance(message, dict):
        message = message.get("message")
    return message[:_MESSAGE_LIMIT] if isinstance(message, str) else ""


def _last_words(rank: int, files: list[RankFile]) -> str:
    paths = [one.path for one in files if one.rank == rank and one.stream == "stderr"]
    return last_line(paths[0]) if paths else ""


def last_line(path: str) -> str:
    """The last line with anything on it: of a Python traceback, the exception."""
    lines = [line.strip() for line in tail(path).splitlines() if line.strip()]
    return lines[-1][:_MESSAGE_LIMIT] if lines else ""


def tail(path: str) -> str:
    """The end of a log as text; "" where there is none."""
    try:
        with open(open_plain(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_LIMIT))
            data = file.read(_TAIL_LIMIT)
    except OSError:
        return ""
    text = data.decode("utf-8", "replace")
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r", "\n"))


def _global(spec: Spec, local_rank: int) -> int:
    return spec.node_rank * spec.nproc + local_rank
