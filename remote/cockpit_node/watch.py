"""Notices what changes in the run directories of a node and reports each run's state."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, NamedTuple, Tuple

EVERY_S = 0.25
DISCOVER_S = 1.0
"""Between two lists of all run directories; an order carried out here lists them at once."""
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
        self, home: str, look: Callable[[str, int], RunState], send: Callable[[RunState], None]
    ) -> None:
        self._home = home
        """Directory of the node name: `<home>/<run id>/<attempt>/`."""
        self._look = look
        self._send = send
        self._over: set[Key] = set()
        self._live: dict[Key, _Seen] = {}
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
            for key in _attempts(self._home):
                if key not in self._over:
                    self._live.setdefault(key, _Seen())
        for key, seen in list(self._live.items()):
            sign = self._sign(key)
            if sign != seen.sign or now - seen.at >= LOOK_AGAIN_S:
                self._visit(key, _Seen(sign, now, seen.state))

    def _visit(self, key: Key, seen: _Seen) -> None:
        state = self._look(*key)
        over = state["state"] in OVER or not os.path.isdir(self._directory(key))
        if over:
            self._over.add(key)
            del self._live[key]
        else:
            self._live[key] = seen._replace(state=state)
        # What was over before this link began is history: `runs` tells it.
        if state != seen.state and not (over and seen.state is None):
            self._send(state)

    def _sign(self, key: Key) -> tuple[int, ...]:
        """What changes whenever a file of the run directory is written or replaced."""
        names = ("sup.json", "exit.json", "ranks.json", "confirm", "stop.json")
        paths = (os.path.join(self._directory(key), name) for name in names)
        return tuple(number for path in paths for number in _stamp(path))

    def _directory(self, key: Key) -> str:
        return os.path.join(self._home, key[0], str(key[1]))


class _Seen(NamedTuple):
    """The last look at a run that is not over."""

    sign: tuple[int, ...] = ()
    at: float = 0.0
    """Monotonic seconds."""
    state: RunState | None = None


def _attempts(home: str) -> Iterator[Key]:
    for run in _names(home):
        for attempt in _names(os.path.join(home, run)):
            if attempt.isdigit():
                yield run, int(attempt)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _stamp(path: str) -> tuple[int, ...]:
    try:
        seen = os.stat(path)
    except OSError:
        return (0,)
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
