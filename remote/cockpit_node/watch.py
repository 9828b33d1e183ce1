"""Notices what changes in the run directories of a node and reports each run's state."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, NamedTuple, Tuple

from cockpit_node.paths import RunPaths

EVERY_S = 0.25
DISCOVER_S = 10.0
"""Between two lists of all run directories; an order carried out here lists them at once.

Nothing prunes them, so that a list may be long.
"""
LOOK_AGAIN_S = 2.0
"""Between two looks at a run whose files did not change: its beat and logs may have."""
OVER: frozenset[str] = frozenset({"ended", "refused", "lost"})
"""States after which nothing of a run changes any more."""

Key = Tuple[str, int]
"""A run id and its attempt."""
RunState = Dict[str, Any]


class RunWatcher:
    """The runs of one node name; `run` is one thread."""

    def __init__(
        self,
        found: Callable[[], Iterable[RunPaths]],
        look: Callable[[str, int], RunState],
        send: Callable[[RunState], None],
    ) -> None:
        self._found = found
        """Every attempt that has a directory here."""
        self._look = look
        """Cheap: by a process table that may be a second old."""
        self._send = send
        self._over: dict[Key, tuple[int, ...]] = {}
        """By which spec; a refused attempt may be prepared again under its number."""
        self._live: dict[Key, _Seen] = {}
        self._began = False
        self._discover_at = 0.0
        self._wake = threading.Event()

    def over(self, run: str, attempt: int) -> bool:
        """Whether a run has ended, so that its files grow no more."""
        return (run, attempt) in self._over

    def nudge(self) -> None:
        """List the directories at once: an order was just carried out."""
        self._discover_at = 0.0
        self._wake.set()

    def run(self) -> None:
        while True:
            self._wake.clear()
            self.scan(time.monotonic())
            self._wake.wait(EVERY_S)

    def scan(self, now: float) -> None:
        """Report every run that changed; `now` in monotonic seconds."""
        if now >= self._discover_at:
            self._discover_at = now + DISCOVER_S
            for paths in self._found():
                key = (paths.run, paths.attempt)
                if key in self._over and self._over[key] != _stamp(paths.spec):
                    del self._over[key]
                if key not in self._over and key not in self._live:
                    self._live[key] = _Seen(paths, is_history=not self._began)
            self._began = True
        for seen in list(self._live.values()):
            sign = _sign(seen.paths)
            if sign != seen.sign or now - seen.at >= LOOK_AGAIN_S:
                self._visit(seen._replace(sign=sign, at=now))

    def _visit(self, seen: _Seen) -> None:
        key = (seen.paths.run, seen.paths.attempt)
        # Before the look: what is prepared anew meanwhile must not count as over.
        spec = _stamp(seen.paths.spec)
        state = self._look(*key)
        over = state["state"] in OVER or _is_gone(seen.paths.directory)
        if over:
            self._over[key] = spec
            del self._live[key]
        else:
            self._live[key] = seen._replace(state=state, is_history=False)
        if state != seen.state and not (over and seen.is_history):
            self._send(state)


class _Seen(NamedTuple):
    """The last look at a run that is not over."""

    paths: RunPaths
    is_history: bool
    """It was here before the link, and never seen alive: if it is over, `runs` tells of it."""
    sign: tuple[int, ...] = ()
    at: float = 0.0
    """Monotonic seconds."""
    state: RunState | None = None


def _is_gone(path: str) -> bool:
    """False where nobody can tell, as while a file system does not answer."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _sign(paths: RunPaths) -> tuple[int, ...]:
    """What changes whenever a file of the run directory is written or replaced."""
    files = (paths.supervisor, paths.exit, paths.streams, paths.confirm, paths.stop, paths.abort)
    return tuple(number for path in files for number in _stamp(path))


def _stamp(path: str) -> tuple[int, ...]:
    try:
        seen = os.stat(path)
    except OSError:
        return (0,)
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
