"""The screens on a cluster that is made up, for looking at: `python -m tests.ui.play [nodes|hostile]`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from cockpit.ui.app import CockpitApp
from tests.ui.lab import HOSTILE, lab, moved, renamed
from tests.ui.model import MemoryModel


class Play(CockpitApp):
    """Lets a second pass each second."""

    def on_mount(self) -> None:
        self._tick_of = 0
        self.set_interval(1.0, self._pass)

    def _pass(self) -> None:
        self._tick_of += 1
        assert isinstance(self.model, MemoryModel)
        after = moved(self.model.cluster, self._tick_of)
        self.model.cluster = replace(after, now=replace(after.now, wall=time.time()))


def main(what: str = "4") -> None:
    """`what` is a number of nodes, or `hostile` for names that a terminal would obey."""
    found = renamed(lab(), HOSTILE) if what == "hostile" else lab(int(what))
    rest = Play(MemoryModel(found)).run()
    if rest:
        print(rest)  # noqa: T201  # what a caller does with it


if __name__ == "__main__":
    main(*sys.argv[1:])
