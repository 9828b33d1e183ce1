"""Whether a job is still writing its checkpoint."""

from __future__ import annotations

import os

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
        self._looked_at: float | None = None

    def recent(self, now: float) -> bool:
        """Whether it grew lately; `now` is monotonic seconds. Call it often to know."""
        if self._looked_at is None or now - self._looked_at >= _LOOK_EVERY_S:
            size = self._bytes or 0
            with unessential(f"{self._directory} could not be measured"):
                size = _size(self._directory)
            if self._bytes is not None and size > self._bytes:
                self._grown_at = now
            self._bytes, self._looked_at = size, now
        return self._grown_at is not None and now - self._grown_at < QUIET_S


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
