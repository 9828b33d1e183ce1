"""The engine lock: one process a cluster; it dies with its holder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

TRIES = 10
BETWEEN_TRIES_S = 0.005


class EngineLock:
    """A flock on a file that holds the pid of the holder as text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """True if this process holds it from now on."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _locked(descriptor):
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _locked(descriptor: int) -> bool:
    """Tried for a moment: whoever only asks for the holder has the lock for some microseconds."""
    for _ in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(BETWEEN_TRIES_S)
        else:
            return True
    return False


def holder(path: Path) -> int | None:
    """Pid of the running engine, None if there is none."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with contextlib.closing(os.fdopen(descriptor, "rb")) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read(32).strip()
            return int(text) if text.isdigit() else 0
    return None
