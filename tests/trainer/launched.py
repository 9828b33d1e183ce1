"""A training run of real processes, read line by line while it runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cockpit_trainer.wire import CheckpointSaved, Line, Metrics, Phase, parse_line

TRAINER = Path(__file__).parents[2] / "trainer"
PATIENCE_SECONDS = 120.0
"""A run that takes longer is ended, and its test fails with all that it printed."""


class Launched:
    """One process and all that it printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.output: list[str] = []

    @property
    def lines(self) -> list[Line]:
        return [line for line in map(parse_line, self.output) if line is not None]

    @property
    def metrics(self) -> dict[int, dict[str, float]]:
        """By step; the lines of one step are taken together."""
        figures: dict[int, dict[str, float]] = {}
        for line in self.lines:
            if isinstance(line, Metrics):
                figures.setdefault(line.step, {}).update(line.values)
        return figures

    @property
    def saved_steps(self) -> list[int]:
        return [line.step for line in self.lines if isinstance(line, CheckpointSaved)]

    @property
    def phases(self) -> list[str]:
        return [line.name for line in self.lines if isinstance(line, Phase)]

    @property
    def text(self) -> str:
        return "".join(self.output)

    def wait_for(self, wanted: Callable[[Line], bool]) -> Line:
        """Read on until the run says what is wanted."""
        for text in self._rest():
            line = parse_line(text)
            if line is not None and wanted(line):
                return line
        raise AssertionError(f"it never said so, but:\n{self.text}")

    def finish(self) -> int:
        """Read to the end; return the exit status."""
        for _ in self._rest():
            pass
        return self.process.wait()

    def ranks(self) -> dict[int, int]:
        """The pids of torchrun's children, by rank."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {_rank_of(int(child)): int(child) for child in children}

    def _rest(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.output.append(text)
            yield text


@contextmanager
def launched(command: list[str], **variables: str) -> Iterator[Launched]:
    """Start a process whose output can be read; end it, and torchrun's ranks with it, at the end."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COCKPIT_")}
    environment = {**environment, "PYTHONPATH": str(TRAINER), **variables}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        watchdog = threading.Timer(PATIENCE_SECONDS, process.terminate)
        watchdog.start()
        try:
            yield Launched(process)
        finally:
            watchdog.cancel()
            process.terminate()


def torchrun(*arguments: str) -> list[str]:
    """Two ranks of the trainer, met on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    rendezvous = ["--nnodes=1", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    program = [sys.executable, "-m", "torch.distributed.run", *rendezvous, f"--master-port={port}"]
    return [*program, "-m", "cockpit_trainer.train", *arguments]


def alone(*arguments: str) -> list[str]:
    """The trainer as one process."""
    return [sys.executable, "-m", "cockpit_trainer.train", *arguments]


def _rank_of(pid: int) -> int:
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(int(entry[5:]) for entry in environment if entry.startswith(b"RANK="))
