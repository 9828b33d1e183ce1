"""A model that keeps its orders and answers from memory, for screens without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.core.cluster import Cluster
from cockpit.core.request import Request
from cockpit.ui.model import Found, Happening, Point, Unavailable
from tests.ui.lab import lab, run_id


@dataclass
class MemoryModel:
    """Everything a screen asks is a field here; everything it orders is in `orders`."""

    cluster: Cluster = field(default_factory=lab)
    engine: str = "engine: here"
    alert: str = ""
    runs_engine: bool = True
    found: Sequence[Found] | str = ()
    """Checkpoints of every job, or why there is no answer."""
    history: list[Happening] = field(default_factory=list)
    points: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    spool: Path = Path("/nonexistent")
    orders: list[tuple[object, ...]] = field(default_factory=list)

    def submit(self, request: Request) -> None:
        self.orders.append(("submit", request))

    def cancel(self, job: int, grace_s: int | None = None) -> None:
        self.orders.append(("cancel", job, grace_s))

    def restart(self, job: int, checkpoint: str | None = None) -> None:
        self.orders.append(("restart", job, checkpoint))

    def leave_daemon(self) -> None:
        self.orders.append(("leave_daemon",))

    def reconnect(self) -> None:
        self.orders.append(("reconnect",))

    def metrics(self, job: int) -> Mapping[str, Sequence[Point]]:
        return self.points

    def happenings(self, job: int | None = None) -> Sequence[Happening]:
        return [one for one in self.history if job is None or one.job == job]

    async def checkpoints(self, job: int) -> Sequence[Found]:
        if isinstance(self.found, str):
            raise Unavailable(self.found)
        return self.found

    def logs(self, job: int, attempt: int) -> Path:
        return self.spool / str(job) / str(attempt)

    def new_run(self) -> str:
        return run_id(999)
