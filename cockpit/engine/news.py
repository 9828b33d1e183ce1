"""What the logs told and the store does not have yet: metrics, how far they were read, what is missing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cockpit.core.events import CheckpointLogged, Event, MetricsLogged, PhaseLogged
from cockpit.core.jobs import Checkpoint, Stream
from cockpit.engine.metrics import MetricReader
from cockpit.engine.ports import FollowHandle
from cockpit.engine.spool import AttemptSpool
from cockpit.engine.store import Line, MetricRow, Store
from cockpit_trainer.wire import CheckpointSaved, Metrics, Phase


@dataclass(slots=True, eq=False)
class Tail:
    """One stream of one attempt."""

    job: int
    run: str
    attempt: int
    node: str
    stream: Stream
    metrics: MetricReader | None
    """Only rank 0's stdout has any."""
    collected: bool = False
    """All of it is here, or the rest cannot be had any more."""
    over: bool = False
    """The attempt is."""
    is_replaced: bool = False
    """The node began another file, which the spool was not told yet."""
    heard: int = 0
    """Events that came."""
    task: asyncio.Task[None] | None = None
    handle: FollowHandle | None = None
    owed: int = 0
    """Bytes written before there was a handle to grant them back to."""


class News:
    """Written together, a few times a second; the spools hold all of it until then."""

    def __init__(self, store: Store, post: Callable[[Event], None]) -> None:
        self._store = store
        self._post = post
        self._rows: list[MetricRow] = []
        self._lines: list[Line] = []
        self._read: set[Tail] = set()

    def add(self, rows: Iterable[MetricRow]) -> None:
        """Figures that no log holds."""
        self._rows += rows

    @property
    def is_there(self) -> bool:
        return bool(self._rows or self._read or self._lines)

    def write(self) -> None:
        """The metrics that came, with how far they were read; inside a transaction."""
        self._store.add_metrics(self._rows)
        self._store.add_history(self._lines)
        for tail in self._read:
            offset = tail.metrics.offset if tail.metrics else 0
            name = tail.stream.name
            self._store.mark_parsed(tail.run, tail.attempt, name, offset, tail.collected)

    def written(self) -> None:
        """What `write` wrote was committed."""
        self._rows.clear()
        self._lines.clear()
        self._read.clear()

    def tell(self, tail: Tail, words: str) -> None:
        """A line of the job's history."""
        self._lines.append(Line(time.time(), tail.job, words))

    def mark(self, tail: Tail) -> None:
        """How far the tail is, is to be written."""
        self._read.add(tail)

    def catch_up(self, spool: AttemptSpool, tail: Tail) -> None:
        """Read the metrics of all that is kept. Raises OSError."""
        if tail.metrics is not None:
            self.read(tail, spool.kept(tail.stream.name, tail.metrics.position))

    def read(self, tail: Tail, chunks: Iterable[bytes]) -> None:
        if tail.metrics is None:
            return
        for chunk in chunks:
            for found in tail.metrics.feed(chunk):
                self._note(tail, found)
            self._read.add(tail)

    def _note(self, tail: Tail, found: Metrics | CheckpointSaved | Phase) -> None:
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
