"""What the screens stand on: a snapshot from the engine or the viewer, orders into the store."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from cockpit.build.curves import Curves
from cockpit.build.place import Place
from cockpit.core.cluster import Cluster
from cockpit.core.jobs import Resume, checkpoint_at
from cockpit.core.moves import checkpoint_directory
from cockpit.core.request import Request
from cockpit.engine import hearsay
from cockpit.engine.ids import new_run
from cockpit.engine.orders import cancel_body, restart_body
from cockpit.engine.ports import Nodes, Refusal, Unreachable
from cockpit.engine.store import Store
from cockpit.ui.model import Found, Happening, Point, Unavailable

CHECKPOINTS_TIMEOUT_S = 60.0


class Source(Protocol):
    """An engine or a viewer."""

    @property
    def snapshot(self) -> Cluster: ...

    @property
    def alert(self) -> str: ...


class LiveModel:
    """Implements cockpit.ui.model.Model."""

    def __init__(self, place: Place, store: Store) -> None:
        jobs, _ = store.jobs()
        cluster = place.cluster()
        self._first = Cluster(name=cluster.name, nodes=cluster.nodes, jobs=jobs)
        self._place = place
        self._store = store
        self._curves = Curves(store)
        self._source: Source | None = None
        self._nodes: Nodes | None = None
        self.engine = "engine: starting"
        self.runs_engine = False
        self.daemon_wanted = False
        """An engine without a screen is to take over from this process."""
        self._untaken = ""
        self.failure = ""
        """Why the engine stopped, for people."""

    def connect(self, source: Source, nodes: Nodes, engine: str, runs_engine: bool) -> None:
        """The links are there: from now on the snapshot is live."""
        self._source, self._nodes, self.engine = source, nodes, engine
        self.runs_engine = runs_engine

    @property
    def cluster(self) -> Cluster:
        return self._source.snapshot if self._source else self._first

    @property
    def alert(self) -> str:
        return self.failure or self._untaken or (self._source.alert if self._source else "")

    def submit(self, request: Request) -> None:
        with self._taking(f"the job {request.name}"):
            self._store.submit(request.run, time.time(), request)

    def cancel(self, job: int, grace_s: int | None = None) -> None:
        self._order("cancel", job, cancel_body(grace_s))

    def restart(self, job: int, checkpoint: str | None = None) -> None:
        wanted = Resume.NEWEST if checkpoint is None else checkpoint_at(checkpoint)
        self._order("restart", job, restart_body(wanted))

    def _order(self, kind: str, job: int, body: str) -> None:
        with self._taking(f"the order to {kind} job {job}"):
            self._store.order(new_run(), time.time(), kind, job, body)

    @contextmanager
    def _taking(self, what: str) -> Iterator[None]:
        """A store that cannot be written must not end the screen; what was not taken is said."""
        try:
            yield
            self._untaken = ""
        except sqlite3.Error as error:
            self._untaken = f"{what} was NOT taken ({error}): free some disk space and try again"

    def leave_daemon(self) -> None:
        self.daemon_wanted = True

    def reconnect(self) -> None:
        if self._nodes is not None:
            self._nodes.retry()

    def metrics(self, job: int) -> Mapping[str, Sequence[Point]]:
        return self._curves.of(job)

    def happenings(self, job: int | None = None) -> Sequence[Happening]:
        """None while the store cannot be read."""
        try:
            lines = self._store.history(job)
        except sqlite3.Error:
            return []
        return [Happening(line.time, line.job, line.text) for line in lines]

    async def checkpoints(self, job: int) -> Sequence[Found]:
        found = self.cluster.jobs.get(job)
        if found is None or found.home is None or self._nodes is None:
            raise Unavailable("it never ran, so there is no checkpoint to look for yet")
        return await list_checkpoints(self._nodes, self.cluster, job)

    def logs(self, job: int, attempt: int) -> Path:
        return self._place.paths.spool(self.cluster.jobs[job].run, attempt)

    def new_run(self) -> str:
        return new_run()


async def list_checkpoints(nodes: Nodes, cluster: Cluster, number: int) -> Sequence[Found]:
    """Newest step first, from the node of rank 0. Raises Unavailable."""
    job = cluster.jobs[number]
    assert job.home is not None
    node = cluster.nodes.get(job.home)
    if node is None or node.facts is None or not node.is_up:
        why = f": {node.error}" if node and node.error else ""
        raise Unavailable(f"{job.home} holds the checkpoints and does not answer{why}")
    body = {"dir": checkpoint_directory(cluster, job)}
    try:
        async with asyncio.timeout(CHECKPOINTS_TIMEOUT_S):
            reply = await nodes.request(job.home, "checkpoints", body, CHECKPOINTS_TIMEOUT_S)
    except (Refusal, Unreachable, TimeoutError) as error:
        raise Unavailable(f"{job.home} could not list {body['dir']}: {error}") from error
    rows = [_found(row) for row in hearsay.rows(reply.get("checkpoints"))]
    return sorted((row for row in rows if row is not None), key=lambda row: -row.step)


def _found(row: Mapping[str, object]) -> Found | None:
    step, path = hearsay.whole(row.get("step")), row.get("path")
    if step is None or not isinstance(path, str):
        return None
    return Found(
        step=step,
        path=path,
        complete=row.get("complete") is True,
        reason=hearsay.text(row.get("reason")),
        bytes=hearsay.whole(row.get("bytes")) or 0,
        time=hearsay.number(row.get("time")),
        world_size=hearsay.whole(row.get("world_size")),
    )
