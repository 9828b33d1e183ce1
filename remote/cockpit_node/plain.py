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
    # Without O_NONBLOCK a pipe of that name would hold the reader for ever.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotPlain(errno.EINVAL, "it is not a regular file", path)


def read_plain(path: str, limit: int, follow: bool = True) -> bytes:
    """The first `limit` bytes. Raises OSError."""
    with open(open_plain(path, follow), "rb") as file:
        return file.read(limit)


def open_to_write(path: str) -> int:
    """A descriptor to write `path` in place by, made if need be. Raises OSError."""
    make_way(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def make_way(path: str) -> None:
    """Move aside what stands at `path` and is no file, so that one can be written there."""
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(seen.st_mode):
        os.rename(path, f"{path}.{time.time_ns()}.aside")
