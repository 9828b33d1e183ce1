"""Waits for a condition, and says what it waited for when that never came."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 20.0


def until(
    condition: Callable[[], object],
    what: str,
    patience_s: float = PATIENCE_S,
    every_s: float = 0.005,
) -> None:
    """Returns as soon as `condition()` is true; raises `TimeoutError` that names `what`."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {patience_s:g} s for {what}.")
        time.sleep(every_s)
