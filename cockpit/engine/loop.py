"""The engine: one inbox, one writer. Facts and orders in; a snapshot, rows of the store and work out."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from dataclasses import replace

from cockpit.core.cluster import Cluster, Moment, Node
from cockpit.core.effects import Effect, Note
from cockpit.core.events import EngineStarted, Event, Ticked
from cockpit.core.jobs import Job
from cockpit.core.roster import Roster
from cockpit.core.schedule import start_what_fits
from cockpit.core.step import QUIET, fold
from cockpit.engine import gauge
from cockpit.engine.follow import Collector
from cockpit.engine.news import News
from cockpit.engine.orders import BadOrder, event_of
from cockpit.engine.paths import StatePaths
from cockpit.engine.ports import Nodes
from cockpit.engine.run import Runner
from cockpit.engine.store import Line, Order, Store
from cockpit.engine.watch import Watch

ORDERS_PERIOD_S = 0.1
TICK_S = 1.0
ASLEEP_S = 5.0
"""Seconds between two ticks that mean this machine slept; its monotonic clock may have stood still."""
FLUSH_S = 0.5
BATCH_S = 0.02
"""Seconds for which facts are folded into one transaction; then the links have their turn."""
ORDERS_AT_ONCE = 200
"""Orders put in the inbox a period, so that facts of the nodes never wait behind thousands."""

_log = logging.getLogger(__name__)


def now() -> Moment:
    return Moment(time.time(), time.monotonic())


class Engine:
    """Runs while `run` does; to be made only by the holder of the engine lock."""

    def __init__(self, cluster: Cluster, store: Store, nodes: Nodes, paths: StatePaths) -> None:
        """`cluster` holds the inventory's nodes; the jobs come from the store."""
        jobs, _ = store.jobs()
        self._capacity = {name: (units, kind) for name, units, kind in store.capacity()}
        known = {name: self._known(node) for name, node in cluster.nodes.items()}
        self.snapshot = replace(cluster, nodes=known, jobs=Roster.of(jobs), now=now())
        self._trouble = ""
        """Why the store cannot be written, or empty."""
        self._store = store
        self._nodes = nodes
        self._inbox: asyncio.Queue[Event | Order] = asyncio.Queue()
        self._watch = Watch(nodes, self._inbox.put_nowait, now, self._awaited)
        self._runner = Runner(nodes, self._inbox.put_nowait, now)
        self._news = News(store, self._inbox.put_nowait)
        self._collector = Collector(nodes, store, paths, self._news)
        self._dirty: set[int] = set()
        """Jobs whose newest figures are not in the store yet."""

    async def run(self) -> None:
        """Until cancelled; then everything of this process ends and every job goes on."""
        self._inbox.put_nowait(EngineStarted(now()))
        self._watch.start()
        try:
            async with asyncio.TaskGroup() as group:
                for work in (self._consume, self._tick, self._take_orders, self._flush):
                    group.create_task(work())
        finally:
            await self._runner.close()
            await self._watch.close()
            await self._collector.close()
            await self._nodes.close()
            self._write_last_figures()

    def is_collected(self, job: Job) -> bool:
        """Every line that the job's current attempt printed is on this machine."""
        return self._collector.is_complete(job)

    @property
    def alert(self) -> str:
        """What needs a person now, or empty."""
        return self._trouble or self._collector.alert

    def _known(self, node: Node) -> Node:
        """With what the store remembers of it, so that a GPU that is gone since is missed."""
        units, kind = self._capacity.get(node.name, (0, "slot"))
        return replace(node, most_gpus=units if kind == "gpu" else 0)

    def _awaited(self, node: str) -> list[tuple[str, int]]:
        """Attempts that the node is to tell of, even if they ended long ago."""
        return [
            (job.run, job.attempt)
            for job in self.snapshot.roster.holders()
            if job.part(node) is not None
        ]

    async def _consume(self) -> None:
        while True:
            batch = _Fold(self.snapshot, await self._inbox.get())
            until = time.monotonic() + BATCH_S
            while time.monotonic() < until and not self._inbox.empty():
                batch.take(self._inbox.get_nowait())
            batch.finish()
            await self._apply(batch)
            await asyncio.sleep(0)

    async def _tick(self) -> None:
        last = now()
        while True:
            await asyncio.sleep(TICK_S)
            at = now()
            if at.wall - last.wall > ASLEEP_S:
                self._nodes.retry()
            last = at
            self._inbox.put_nowait(Ticked(at))

    async def _take_orders(self) -> None:
        """Put what other processes ordered in the inbox, once each."""
        seen, last = -1, 0
        while True:
            try:
                stamp = self._store.stamp()
                orders = self._store.orders(last, ORDERS_AT_ONCE) if stamp != seen else []
            except sqlite3.DatabaseError as error:
                self._complain(error)
                await asyncio.sleep(TICK_S)
                continue
            for order in orders:
                last = order.id
                self._inbox.put_nowait(order)
            seen = seen if len(orders) == ORDERS_AT_ONCE else stamp
            await asyncio.sleep(ORDERS_PERIOD_S)

    async def _apply(self, batch: _Fold) -> None:
        """Make what was folded durable, show it, then do what it asks for."""
        await self._commit(batch)
        self.snapshot = batch.cluster
        self._dirty = (self._dirty | batch.figures) - batch.changed
        for effect in batch.effects:
            if not isinstance(effect, Note):
                self._runner.carry_out(effect)
        try:
            self._collector.update(self.snapshot)
        except sqlite3.DatabaseError as error:
            self._complain(error)

    async def _commit(self, batch: _Fold) -> None:
        """Write before anything is shown or done. A store in trouble is waited out: nothing is lost."""
        while batch.is_durable:
            try:
                with self._store.transaction():
                    self._store.save_jobs(batch.cluster.jobs[number] for number in batch.changed)
                    self._store.add_history(batch.lines())
                    for order in batch.orders:
                        self._store.consume(order)
                self._trouble = ""
                return
            except sqlite3.DatabaseError as error:
                self._complain(error)
                await asyncio.sleep(TICK_S)

    async def _flush(self) -> None:
        last_gauge = 0.0
        while True:
            await asyncio.sleep(FLUSH_S)
            if time.monotonic() - last_gauge >= gauge.PERIOD_S:
                last_gauge = time.monotonic()
                self._news.add(gauge.rows(self.snapshot))
            try:
                self._write_figures()
            except sqlite3.DatabaseError as error:
                self._complain(error)

    def _write_figures(self) -> None:
        """Figures of running jobs: many a second, so they are written together."""
        fresh = {
            name: found
            for name, node in self.snapshot.nodes.items()
            if (found := _capacity(node)) is not None and found != self._capacity.get(name)
        }
        if not self._dirty and not fresh and not self._news.is_there:
            return
        with self._store.transaction():
            for name, (units, kind) in fresh.items():
                self._store.save_capacity(name, units, kind)
            self._store.save_jobs(self.snapshot.jobs[number] for number in self._dirty)
            self._news.write()
        self._news.written()
        self._capacity |= fresh
        self._dirty.clear()

    def _write_last_figures(self) -> None:
        """The spools hold all that a full disk keeps out here; the next engine reads it from there."""
        try:
            self._write_figures()
        except sqlite3.DatabaseError as error:
            self._complain(error)

    def _complain(self, error: sqlite3.DatabaseError) -> None:
        is_full = isinstance(error, sqlite3.OperationalError)
        cure = "free some disk space" if is_full else "it is damaged: see whether its disk is well"
        self._trouble = f"the store cannot be written ({error}): {cure}; nothing is lost yet"
        _log.error("%s", self._trouble)


def _capacity(node: Node) -> tuple[int, str] | None:
    """What the store is to remember of a node; None before it was read."""
    if node.most_gpus:
        return node.most_gpus, "gpu"
    return node.capacity if node.units else None


class _Fold:
    """A batch of facts and orders, folded, and what must be written before it counts."""

    def __init__(self, cluster: Cluster, first: Event | Order) -> None:
        self.cluster = cluster
        self.effects: list[Effect] = []
        self.orders: list[Order] = []
        self.changed: set[int] = set()
        """Jobs that must be durable."""
        self.figures: set[int] = set()
        """Jobs of which only figures changed."""
        self._may_start = False
        self.take(first)

    @property
    def is_durable(self) -> bool:
        return bool(self.changed or self.orders or any(isinstance(e, Note) for e in self.effects))

    def lines(self) -> list[Line]:
        wall = self.cluster.now.wall
        return [Line(wall, e.job, e.text) for e in self.effects if isinstance(e, Note)]

    def take(self, item: Event | Order) -> None:
        event = self._event(item) if isinstance(item, Order) else item
        if event is None:
            return
        is_quiet = isinstance(event, QUIET)
        self._may_start |= not is_quiet
        self._become(fold(self.cluster, event), self.figures if is_quiet else self.changed)

    def finish(self) -> None:
        """Start what fits now, once for all that came."""
        if self._may_start:
            self._become(start_what_fits(self.cluster), self.changed)

    def _become(self, outcome: tuple[Cluster, list[Effect]], kind: set[int]) -> None:
        before = self.cluster.roster
        self.cluster, effects = outcome
        self.effects += effects
        if self.cluster.roster is not before:
            kind.update(job.id for job in self.cluster.roster.changed_since(before))

    def _event(self, order: Order) -> Event | None:
        self.orders.append(order)
        try:
            return event_of(order, now())
        except BadOrder as error:
            self.effects.append(Note(order.job, str(error)))
            return None
