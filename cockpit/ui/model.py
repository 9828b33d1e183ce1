"""All that a screen may ask of the rest: a snapshot to read, orders to send, and a few look-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cockpit.core.cluster import Cluster
from cockpit.core.request import Request


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one metric."""

    attempt: int
    step: int | None
    """Trainer step; None for readings of the machines."""
    time: float
    """Unix seconds."""
    value: float
    """May be nan or inf."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of history, for people."""

    time: float
    """Unix seconds."""
    job: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """One checkpoint directory on a node."""

    step: int
    path: str
    complete: bool
    reason: str
    """Why it is not complete, in words."""
    bytes: int
    time: float | None
    """Unix seconds by the node's clock."""
    world_size: int | None


class Unavailable(Exception):
    """A look-up that cannot be answered now; the text says why and what to do."""


class Model(Protocol):
    """The composition root builds one; screens know nothing else of the engine."""

    @property
    def cluster(self) -> Cluster:
        """The newest snapshot; a new object whenever anything changed."""

    @property
    def engine(self) -> str:
        """Where the engine runs, for the top line: `engine: here`, `engine: pid 4242`."""

    @property
    def runs_engine(self) -> bool:
        """The engine runs in this process and ends with it."""

    @property
    def alert(self) -> str:
        """The one thing that needs a person now (store full, engine stopped), or empty."""

    def submit(self, request: Request) -> None:
        """Queue a job."""

    def cancel(self, job: int, grace_s: int | None = None) -> None:
        """Stop a job on all its nodes; `grace_s` None is the job's own."""

    def restart(self, job: int, checkpoint: str | None = None) -> None:
        """Start the next attempt: from the checkpoint at that path, or the newest complete one."""

    def leave_daemon(self) -> None:
        """Once this process has left, an engine without a screen takes over."""

    def reconnect(self) -> None:
        """Try every node that does not answer at once."""

    def metrics(self, job: int) -> Mapping[str, Sequence[Point]]:
        """By name (`loss`, `tokens_per_s`, `gpu_used_pct`, ...), thinned to what a plot needs."""

    def happenings(self, job: int | None = None) -> Sequence[Happening]:
        """Newest last, of one job or of all."""

    async def checkpoints(self, job: int) -> Sequence[Found]:
        """Newest step first, from the node of rank 0. Raises Unavailable."""

    def logs(self, job: int, attempt: int) -> Path:
        """Spool directory of an attempt (cockpit/engine/spool.py)."""

    def new_run(self) -> str:
        """A fresh run id for a request."""
