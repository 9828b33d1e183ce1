"""The screens on a cluster that is made up, for looking at: `python -m tests.ui.play [nodes]`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from cockpit.ui.app import CockpitApp
from tests.ui.lab import lab, moved
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


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    rest = Play(MemoryModel(cluster=lab(count))).run()
    if rest:
        print(rest)  # noqa: T201  # what a caller does with it
