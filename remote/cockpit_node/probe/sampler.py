"""Runs a probe again and again in a thread of its own, so that a hanging one holds up nothing."""

from __future__ import annotations

import threading
import time
from typing import Callable, Generic, TypeVar

T = TypeVar("T")


class Sampler(Generic[T]):
    """One probe, its thread and its last answer."""

    def __init__(self, name: str, probe: Callable[[], T], every_s: float) -> None:
        self._probe = probe
        self._every_s = every_s
        self._answered = threading.Event()
        self._last: T | None = None
        self._at = time.monotonic()
        self._error: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"probe {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def value(self) -> T | None:
        """The last answer; None before the first."""
        return self._last

    @property
    def age_s(self) -> float:
        """Since the last answer, or since the start where there was none."""
        return time.monotonic() - self._at

    @property
    def error(self) -> str | None:
        """Why the last try gave no answer."""
        return self._error

    def wait(self, timeout_s: float) -> None:
        """Until the first try is over, at most `timeout_s`."""
        self._answered.wait(timeout_s)

    def _run(self) -> None:
        while True:
            try:
                self._last = self._probe()
                self._at = time.monotonic()
                self._error = None
            # Drivers and kernels fail in ways nobody lists; what they said is shown.
            except Exception as error:  # noqa: BLE001
                self._error = f"{type(error).__name__}: {error}"
            self._answered.set()
            time.sleep(self._every_s)
