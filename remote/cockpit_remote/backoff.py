"""How long to wait before the next try to reach a node."""

from __future__ import annotations

import random

from cockpit_remote.failures import LinkFailed, TimedOut

CONNECT_S = 20.0
"""For the first try and every fourth: logging in may be slow on a busy node."""
QUICK_CONNECT_S = 8.0
"""For the tries between: TCP knocks at 0, 1, 3 and 7 s, so a healed cut is soon noticed."""
SILENT_S = 1.0
"""After silence: a node that hears nothing is not burdened."""
FAILED_S = (1.0, 4.0, 15.0, 30.0)
"""After answers that were no success; five tries in the first minute, then two a minute."""
PERSON_S = 300.0
"""Where a person must act: now and then all the same, but no guard on the node is provoked."""


class Backoff:
    """The tries since a node was last reached."""

    def __init__(self) -> None:
        self._tries = 0
        self._answers = 0

    @property
    def connect_s(self) -> float:
        """The time limit of the next try."""
        return QUICK_CONNECT_S if self._tries % 4 else CONNECT_S

    def reached(self) -> None:
        self._tries = self._answers = 0

    def after(self, failure: LinkFailed) -> float:
        """Seconds to wait, spread so that many nodes do not come at once."""
        self._tries += 1
        if failure.needs_person:
            return PERSON_S
        if isinstance(failure, TimedOut):
            return SILENT_S * random.uniform(0.5, 1)
        wait = FAILED_S[min(self._answers, len(FAILED_S) - 1)]
        self._answers += 1
        return wait * random.uniform(0.5, 1)
