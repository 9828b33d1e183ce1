"""What a supervisor does at all times, whatever its run is doing."""

from __future__ import annotations

import time

from cockpit_node import torchrun
from cockpit_node.archive import own_archive, touch
from cockpit_node.children import Children
from cockpit_node.journal import Journal
from cockpit_node.leases import Leases
from cockpit_node.members import Members
from cockpit_node.outputs import Outputs, RankFile
from cockpit_node.spec import Spec
from cockpit_node.unessential import unessential

TICK_S = 0.1
BEAT_S = 2.0
RANKS_S = 0.5
SCAN_S = 5.0
"""Between two looks at every process of the node."""
TOUCH_S = 3600.0


class Heart:
    """Beats, reaps, keeps the leases young, and writes down whom and what it sees."""

    def __init__(self, spec: Spec, outputs: Outputs, children: Children, journal: Journal) -> None:
        self.members = Members(spec.marker)
        self.leases = Leases(())
        self.trainer: str | None = None
        """The file that the run imports its trainer from."""
        self._spec = spec
        self._outputs = outputs
        self._children = children
        self._journal = journal
        self._files_found = -1
        self._running = False
        self._due: dict[str, float] = {}

    def started(self) -> None:
        """From now on there are processes and files to look for."""
        self._running = True
        self._see_files()

    def pulse(self) -> None:
        """Wait for a child or a moment, and do what is due."""
        self._children.wait(TICK_S)
        self.breathe()
        if not self._running:
            return
        if self._is_due("scan", SCAN_S):
            self.members.scan()
            self._journal.known(self.members.known)
        if self._is_due("ranks", RANKS_S):
            self._see_files()

    def breathe(self) -> None:
        """The least, also in the middle of a kill."""
        self._children.reap()
        if self._is_due("beat", BEAT_S):
            self._journal.beat()
        if self._is_due("touch", TOUCH_S):
            with unessential("the leases could not be kept young"):
                self.leases.touch()
            touch(own_archive(), self.trainer)

    def _see_files(self) -> None:
        """The ranks' files appear one by one, when torchrun is ready."""
        # Of a run whose spec is lost nobody can say any more which files it writes.
        if self._files_found == 2 * self._spec.nproc or not self._spec.argv:
            return
        files: list[RankFile] = []
        if self._spec.is_torchrun:
            with unessential("the ranks' logs could not be looked for"):
                files = torchrun.rank_files(self._spec, self._outputs.logs)
        if len(files) != self._files_found:
            self._files_found = len(files)
            self._journal.streams(self._outputs.streams(files))

    def _is_due(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every_s
        return True
