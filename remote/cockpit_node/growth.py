"""Whether a job is still writing its checkpoint."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Iterator

from cockpit_node.unessential import unessential

_FILES_LIMIT = 20000
QUIET_S = 3.0
"""A directory that has not grown for so long is not being written to."""
_LOOK_EVERY_S = 0.5


class Growth:
    """The bytes below one directory, looked at now and then."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._bytes: int | None = None
        self._grown_at: float | None = None
        self._quiet_s = QUIET_S

    def recent(self, now: float) -> bool:
        """Whether it grew lately; `now` is monotonic seconds. Never waits."""
        return self._grown_at is not None and now - self._grown_at < self._quiet_s

    def look(self) -> None:
        """Measure it once, however long that takes."""
        began, size = time.monotonic(), self._bytes or 0
        with unessential(f"{self._directory} could not be measured"):
            size = _size(self._directory)
        now = time.monotonic()
        if self._bytes is not None and size > self._bytes:
            # The next look may take as long as this one did.
            self._quiet_s = max(QUIET_S, 2 * (now - began))
            self._grown_at = now
        self._bytes = size


@contextlib.contextmanager
def watched(directory: str) -> Iterator[Growth]:
    """Its growth, measured by a thread of its own.

    The directory is the job's and may be on a file system that hangs; that holds only the thread.
    """
    growth, over = Growth(directory), threading.Event()

    def watch() -> None:
        while not over.is_set():
            growth.look()
            over.wait(_LOOK_EVERY_S)

    threading.Thread(target=watch, name="growth", daemon=True).start()
    try:
        yield growth
    finally:
        over.set()


def _size(directory: str) -> int:
    total = files = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            files += 1
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                # Gone meanwhile, or not for us to see; the rest of it may still grow.
                continue
        if files > _FILES_LIMIT:
            break
    return total
