"""Opens plain files only: whatever else bears the name blocks nobody and surprises nobody."""

from __future__ import annotations

import errno
import os
import stat
import time


class NotPlain(OSError):
    """A pipe, socket, device or directory where a file must be."""


def open_plain(path: str, follow: bool = True) -> int:
    """A descriptor to read `path` by. Raises OSError; NotPlain is one."""
    # A look first, since even to open a pipe or a device does something to it.
    _must_be_plain(path, os.stat(path, follow_symlinks=follow))
    # Without O_NONBLOCK a pipe put there meanwhile would hold the reader for ever.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        _must_be_plain(path, os.fstat(descriptor))
    except NotPlain:
        os.close(descriptor)
        raise
    return descriptor


def read_plain(path: str, limit: int, follow: bool = True) -> bytes:
    """The first `limit` bytes. Raises OSError."""
    with open(open_plain(path, follow), "rb") as file:
        return file.read(limit)


def open_to_write(path: str) -> int:
    """A descriptor to write `path` in place by, made if need be. Raises OSError."""
    make_way(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def write_plain(path: str, data: bytes) -> None:
    """Write `data` from the start of the file on. Raises OSError."""
    with open(open_to_write(path), "wb") as file:
        file.write(data)


def make_way(path: str) -> None:
    """Move aside what stands at `path` and is no file, so that one can be written there."""
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(seen.st_mode):
        os.rename(path, f"{path}.{time.time_ns()}.aside")


def _must_be_plain(path: str, seen: os.stat_result) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise NotPlain(errno.EINVAL, "it is not a regular file", path)
