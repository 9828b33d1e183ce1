"""A node without a link: its own state root and locks, its runs driven as an agent drives them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cockpit_node import records, runs
from cockpit_node.node import GpuProcesses
from cockpit_node.paths import RunPaths
from cockpit_node.processes import Identity, environ, lives, process, table, variable
from cockpit_node.states import RunState

T = TypeVar("T")
WAIT_S = 90.0


def until(what: str, condition: Callable[[], T | bool | None], within_s: float = WAIT_S) -> T:
    """The first true value of `condition`."""
    give_up = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value  # type: ignore[return-value]  # not True where T is more than bool
        if time.monotonic() > give_up:
            raise AssertionError(f"{what}: not within {within_s:g} s")
        time.sleep(0.02)


class Rig:
    """One node, and everything that a test starts on it."""

    def __init__(self, root: Path, gpu_processes: GpuProcesses | None = None) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.node = runs.Node("gpu1", str(root / "state"), "tests", gpu_processes)

    def spec(self, argv: list[str], **fields: Any) -> dict[str, Any]:
        """A plain job on no unit, unless `fields` say otherwise."""
        spec: dict[str, Any] = {
            "version": 1,
            "run": "01RUN",
            "attempt": 1,
            "claim": "1.1",
            "node": "gpu1",
            "node_rank": 0,
            "nnodes": 1,
            "nproc": 1,
            "name": "story",
            "user": "me",
            "launcher": "plain",
            "argv": argv,
            "port_at": None,
            "setup": "",
            "env": {},
            "workdir": str(self.work),
            "script": None,
            "program": argv[0],
            "units": [],
            "cuda_devices": "",
            "checkpoint_dir": None,
            "resume": None,
            "grace_s": 5,
            "confirm_s": 30,
        }
        return {**spec, **fields}

    def start(self, spec: dict[str, Any], confirm: bool = True) -> RunPaths:
        """Prepare, go and, as a rule, confirm."""
        run, attempt = spec["run"], spec["attempt"]
        port = runs.prepare(self.node, spec)
        runs.go(self.node, run, attempt, port)
        if confirm:
            runs.confirm(self.node, run, attempt)
        return self.node.paths(run, attempt)

    def look(self, paths: RunPaths) -> RunState:
        return runs.look(self.node, paths.run, paths.attempt)

    def ended(self, paths: RunPaths) -> dict[str, Any]:
        """The exit record, once nothing is left."""

        def record() -> dict[str, Any] | None:
            state = self.look(paths)
            found: dict[str, Any] | None = state["exit"]
            return found if state["state"] == "ended" else None

        return until(f"the end of run {paths.run}", record)

    def state(self, paths: RunPaths, *wanted: str) -> RunState:
        """The run, once it is in one of the states."""
        return until(
            f"run {paths.run} {' or '.join(wanted)}",
            lambda: state if (state := self.look(paths))["state"] in wanted else None,
        )

    def supervisor(self, paths: RunPaths) -> Identity:
        record = records.read(paths.supervisor)
        assert record is not None
        return Identity(record["pid"], record["start"])

    def stream(self, paths: RunPaths, name: str) -> str:
        """What a stream of the run holds so far; "" while it does not exist."""
        rows = records.rows(records.read(paths.streams), "streams")
        places = [Path(row["path"]) for row in rows if row["name"] == name]
        return places[0].read_text() if places and places[0].exists() else ""

    def text(self, name: str) -> str:
        path = self.work / name
        return path.read_text() if path.exists() else ""

    def marked(self) -> list[int]:
        """Pids of every process whose environment says that it is of a run on this rig."""
        return [
            row.pid for row in table().values() if row.lives and self._is_ours(environ(row.pid))
        ]

    def _is_ours(self, block: bytes) -> bool:
        directory = variable(block, b"COCKPIT_CHECKPOINT_DIR") or b""
        return variable(block, b"COCKPIT_RUN") is not None and directory.startswith(
            os.fsencode(self.root)
        )

    def sweep(self) -> None:
        """End what a failed test left: its own runs, by the identities it can prove."""
        for state in runs.runs(self.node):
            paths = self.node.paths(state["run"], state["attempt"])
            record = records.read_if_whole(paths.supervisor)
            if record is not None:
                kill(Identity(int(record.get("pid", 0)), int(record.get("start", 0))))
        for pid in self.marked():
            row = process(pid)
            if row is not None:
                kill(row.identity)


def kill(identity: Identity) -> None:
    """SIGKILL, if it is still that process, and wait until it has gone."""
    if lives(identity):
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGKILL)
    until(f"the end of {identity.pid}", lambda: not lives(identity))
