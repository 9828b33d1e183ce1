"""Processes as /proc shows them: who they are, whose they are, which signals they catch."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

_ENVIRON_LIMIT = 4 * 1024 * 1024


class Identity(NamedTuple):
    """What names one process for as long as the machine is up; a pid alone is given again."""

    pid: int
    start: int
    """Clock ticks after boot, field 22 of /proc/PID/stat."""


class Process(NamedTuple):
    """One row of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    """The kernel's letter: R, S, D, T, Z, ..."""
    threads: int
    start: int
    """Clock ticks after boot."""

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start)

    @property
    def lives(self) -> bool:
        """False once only the entry for its parent is left. A dead leader's threads live on."""
        return self.state not in "ZXx" or self.threads > 1


def process(pid: int) -> Process | None:
    """The process that has this pid now."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        # Gone, or another user's where /proc hides those.
        return None
    # The name in brackets may hold spaces and brackets of its own.
    fields = data[data.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    parent, group, session = (int(field) for field in fields[1:4])
    state, threads, start = fields[0].decode("ascii", "replace"), int(fields[17]), int(fields[19])
    return Process(pid, parent, group, session, state, threads, start)


def table() -> dict[int, Process]:
    """Every process of this /proc, by pid."""
    rows = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in rows if row is not None}


def lives(identity: Identity) -> bool:
    """Whether exactly that process is still alive."""
    row = process(identity.pid)
    return row is not None and row.start == identity.start and row.lives


def environ(pid: int) -> bytes:
    """The environment as of its exec, NUL-separated; empty where it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read(_ENVIRON_LIMIT)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def variable(block: bytes, name: bytes) -> bytes | None:
    """One variable of an environment block."""
    at = (b"\0" + block).find(b"\0" + name + b"=")
    return None if at < 0 else block[at + len(name) + 1 :].split(b"\0", 1)[0]


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal (SigCgt in /proc/PID/status)."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            mask = next((line.split()[1] for line in file if line.startswith(b"SigCgt:")), b"0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return bool(int(mask, 16) >> (number - 1) & 1)


def send(identity: Identity, number: int) -> bool:
    """Signal exactly this process, never another that has its pid now.

    False if it is gone, or has become another user's and takes no signal from this one.
    """
    if hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal"):
        try:
            descriptor = os.pidfd_open(identity.pid)
        except ProcessLookupError:
            return False
        except OSError:
            # A kernel before 5.3, or a sandbox that knows no pidfd.
            return _send_by_pid(identity, number)
        try:
            if not _same(identity):
                return False
            signal.pidfd_send_signal(descriptor, number)
        except (ProcessLookupError, PermissionError):
            return False
        finally:
            os.close(descriptor)
        return True
    return _send_by_pid(identity, number)


def _send_by_pid(identity: Identity, number: int) -> bool:
    if not _same(identity):
        return False
    try:
        os.kill(identity.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _same(identity: Identity) -> bool:
    row = process(identity.pid)
    return row is not None and row.start == identity.start
