"""One node as one operator's agent sees it."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, List

from cockpit_node import processes
from cockpit_node.paths import RunPaths
from cockpit_node.processes import Process
from cockpit_node.states import RunState, run_state

TABLE_S = 1.0
"""How old the process table may be that a mere look goes by."""

GpuProcesses = Callable[[], Dict[str, List[Dict[str, Any]]]]
"""Processes on each GPU by uuid, as in a reading."""


class Node:
    """A name, a state root, and looks at what runs there; safe to use from several threads."""

    def __init__(
        self, name: str, root: str, client: str, gpu_processes: GpuProcesses | None = None
    ) -> None:
        self.name = name
        """In the operator's inventory."""
        self.root = root
        self.client = client
        """Which cockpit gives the orders."""
        self.gpu_processes = gpu_processes
        self._lock = threading.Lock()
        self._table: dict[int, Process] = {}
        self._table_at = float("-inf")

    def paths(self, run: str, attempt: int) -> RunPaths:
        """Raises BadPath for names that are none."""
        return RunPaths.of(self.root, self.name, run, attempt)

    def table(self, age_s: float = 0.0) -> dict[int, Process]:
        """The process table, at most so old; shared by all who look at about the same time."""
        with self._lock:
            if time.monotonic() - self._table_at >= age_s:
                self._table, self._table_at = processes.table(), time.monotonic()
            return self._table

    def look(self, run: str, attempt: int) -> RunState:
        """Cheap enough for several times a second."""
        return run_state(self.paths(run, attempt), self.table(TABLE_S))
