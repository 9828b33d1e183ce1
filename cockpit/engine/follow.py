"""Logs: every stream of every attempt, followed by offset into the spool, with its metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cockpit.core.cluster import Cluster, LinkState
from cockpit.core.events import CheckpointLogged, Event, MetricsLogged, PhaseLogged
from cockpit.core.jobs import Checkpoint, Job, Part, Stream
from cockpit.core.roster import Roster
from cockpit.engine.metrics import MetricReader
from cockpit.engine.paths import StatePaths
from cockpit.engine.ports import (
    Appended,
    Ended,
    FollowEvent,
    FollowHandle,
    Nodes,
    Refusal,
    Replaced,
    Unreachable,
)
from cockpit.engine.spool import AttemptSpool, SpoolGap
from cockpit.engine.store import MetricRow, Store
from cockpit_trainer.wire import CheckpointSaved, Metrics, Phase

CREDIT = 1024 * 1024
"""Bytes that a node may send of one stream before this side has written them."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Tail:
    """One stream of one attempt."""

    job: int
    run: str
    attempt: int
    node: str
    stream: Stream
    metrics: MetricReader | None
    """Only rank 0's stdout has any."""
    collected: bool = False
    task: asyncio.Task[None] | None = None
    handle: FollowHandle | None = None
    owed: int = 0
    """Bytes written before there was a handle to grant them back to."""


@dataclass(slots=True, eq=False)
class _Attempt:
    spool: AttemptSpool
    tails: dict[str, _Tail] = field(default_factory=dict)


class Collector:
    """Follows what the snapshot says there is; the spool's own size is where it goes on."""

    def __init__(
        self, nodes: Nodes, store: Store, paths: StatePaths, post: Callable[[Event], None]
    ) -> None:
        self._nodes = nodes
        self._store = store
        self._paths = paths
        self._post = post
        self._attempts: dict[tuple[str, int], _Attempt] = {}
        self._finished: set[tuple[str, int]] = set()
        self._seen = Roster()
        """The jobs at the last update."""
        self._rows: list[MetricRow] = []
        self._read: set[_Tail] = set()

    def update(self, cluster: Cluster) -> None:
        """Begin what is new, begin again what a lost link ended, close what is complete."""
        live = {(job.run, job.attempt) for job in cluster.roster.holders()}
        for job in cluster.roster.changed_since(self._seen):
            if job.parts and (job.run, job.attempt) not in self._finished:
                self._declare(job)
        self._seen = cluster.roster
        for key, attempt in list(self._attempts.items()):
            for tail in attempt.tails.values():
                self._keep_going(cluster, attempt, tail)
            if key not in live and all(tail.collected for tail in attempt.tails.values()):
                self._finish(key, attempt)

    def is_complete(self, job: Job) -> bool:
        """Nothing that the attempt printed is still on its way."""
        has_streams = any(part.streams for part in job.parts)
        return not has_streams or (job.run, job.attempt) in self._finished

    def add(self, rows: Iterable[MetricRow]) -> None:
        """Figures that no log holds."""
        self._rows += rows

    @property
    def has_news(self) -> bool:
        return bool(self._rows or self._read)

    def write(self) -> None:
        """The metrics that came, with how far they were read; inside a transaction."""
        self._store.add_metrics(self._rows)
        for tail in self._read:
            offset = tail.metrics.offset if tail.metrics else 0
            name = tail.stream.name
            self._store.mark_parsed(tail.run, tail.attempt, name, offset, tail.collected)

    def written(self) -> None:
        """What `write` wrote was committed."""
        self._rows.clear()
        self._read.clear()

    async def close(self) -> None:
        tails = [tail for attempt in self._attempts.values() for tail in attempt.tails.values()]
        tasks = [tail.task for tail in tails if tail.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for attempt in self._attempts.values():
            attempt.spool.close()

    def _declare(self, job: Job) -> None:
        key = (job.run, job.attempt)
        names = {stream.name for part in job.parts for stream in part.streams}
        if job.state.is_over and names and names <= self._store.collected(*key):
            self._finished.add(key)
            return
        for part in job.parts:
            for stream in part.streams:
                attempt = self._attempts.get(key)
                if attempt is None:
                    attempt = _Attempt(AttemptSpool(self._paths.spool(*key)))
                    self._attempts[key] = attempt
                if stream.name not in attempt.tails:
                    attempt.tails[stream.name] = self._tail(job, part, stream, attempt.spool)

    def _tail(self, job: Job, part: Part, stream: Stream, spool: AttemptSpool) -> _Tail:
        spool.declare(stream.name, part.node, stream.rank)
        offset, collected = self._store.parsed(job.run, job.attempt, stream.name)
        has_metrics = stream.rank == 0 and stream.stream == "stdout"
        reader = MetricReader(offset) if has_metrics else None
        tail = _Tail(job.id, job.run, job.attempt, part.node, stream, reader, collected)
        if reader is not None:
            self._read_metrics(tail, spool.kept(stream.name, offset))
        return tail

    def _keep_going(self, cluster: Cluster, attempt: _Attempt, tail: _Tail) -> None:
        node = cluster.nodes.get(tail.node)
        is_up = node is not None and node.link is LinkState.UP
        if tail.task is not None and not is_up:
            tail.task.cancel()
            tail.task, tail.handle = None, None
        if tail.collected or tail.task is not None or not is_up:
            return
        tail.task = asyncio.get_running_loop().create_task(self._follow(attempt.spool, tail))

    async def _follow(self, spool: AttemptSpool, tail: _Tail) -> None:
        """One follow over one link; ended by the link or by the end of the run."""
        body = {
            "run": tail.run,
            "attempt": tail.attempt,
            "name": tail.stream.name,
            "offset": spool.size(tail.stream.name),
            "credit": CREDIT,
        }
        done = asyncio.Event()
        tail.owed = 0
        try:
            tail.handle = await self._nodes.follow(
                tail.node, body, lambda event: self._heard(spool, tail, event, done)
            )
            tail.handle.grant(tail.owed)
            await done.wait()
            await tail.handle.close()
        except (Refusal, Unreachable) as error:
            _log.info("%s on %s is not followed: %s", tail.stream.name, tail.node, error)
            await asyncio.sleep(1.0)
        finally:
            tail.handle = None
            tail.task = None

    def _heard(
        self, spool: AttemptSpool, tail: _Tail, event: FollowEvent, done: asyncio.Event
    ) -> None:
        name = tail.stream.name
        match event:
            case Appended(offset, data):
                try:
                    before = spool.size(name)
                    spool.append(name, offset, data)
                except (SpoolGap, OSError) as error:
                    _log.warning("%s of %s: %s; following it anew", name, tail.node, error)
                    done.set()
                    return
                self._read_metrics(tail, [data[max(0, before - offset) :]])
                if tail.handle is None:
                    tail.owed += len(data)
                else:
                    tail.handle.grant(len(data))
            case Replaced():
                spool.replaced(name)
                tail.metrics = MetricReader(0) if tail.metrics else None
            case Ended(offset):
                tail.collected = spool.size(name) >= offset
                self._read.add(tail)
                done.set()

    def _read_metrics(self, tail: _Tail, chunks: Iterable[bytes]) -> None:
        if tail.metrics is None:
            return
        for chunk in chunks:
            for found in tail.metrics.feed(chunk):
                self._note(tail, found)
            self._read.add(tail)

    def _note(self, tail: _Tail, found: Metrics | CheckpointSaved | Phase) -> None:
        match found:
            case Metrics(step, at, values):
                when = at or time.time()
                self._rows += [
                    MetricRow(tail.job, name, tail.attempt, step, when, value)
                    for name, value in values.items()
                ]
                self._post(MetricsLogged(tail.run, tail.attempt, step, values))
            case CheckpointSaved(step, path):
                checkpoint = Checkpoint(step, path)
                self._post(CheckpointLogged(tail.run, tail.attempt, checkpoint))
            case Phase(name, detail):
                words = f"{name}: {detail}" if detail else name
                self._post(PhaseLogged(tail.run, tail.attempt, words))

    def _finish(self, key: tuple[str, int], attempt: _Attempt) -> None:
        attempt.spool.close()
        del self._attempts[key]
        self._finished.add(key)
