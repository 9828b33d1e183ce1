"""Logs: every stream of every attempt, followed by offset into the spool, with its metrics."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from dataclasses import dataclass, field

from cockpit.core.cluster import Cluster, LinkState
from cockpit.core.jobs import Job, Part, Stream
from cockpit.core.roster import Roster
from cockpit.engine.metrics import MetricReader
from cockpit.engine.news import News, Tail
from cockpit.engine.paths import StatePaths
from cockpit.engine.ports import (
    Appended,
    Ended,
    FollowEvent,
    LinkEnded,
    Nodes,
    Refusal,
    Replaced,
    Unreachable,
)
from cockpit.engine.spool import AttemptSpool, ForeignSpool, SpoolGap
from cockpit.engine.store import Store

CREDIT = 1024 * 1024
"""Bytes that a node may send of one stream before this side has written them."""
AGAIN_S = 1.0
"""Seconds until a stream that could not be followed, or not be kept, is followed anew."""
DECLARE_AGAIN_S = 5.0
"""Seconds until a spool that could not be opened is tried again."""
SILENCE_S = 60.0
"""Seconds for which a node may send nothing of a run that is over until nothing more is awaited."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Attempt:
    spool: AttemptSpool
    tails: dict[str, Tail] = field(default_factory=dict)


_Done = asyncio.Future[float]
"""Done once a follow is: the seconds until the next may begin."""


class Collector:
    """Follows what the snapshot says there is; the spool's own size is where it goes on."""

    def __init__(self, nodes: Nodes, store: Store, paths: StatePaths, news: News) -> None:
        self._nodes = nodes
        self._store = store
        self._paths = paths
        self._news = news
        self._attempts: dict[tuple[str, int], _Attempt] = {}
        self._finished: set[tuple[str, int]] = set()
        self._seen = Roster()
        """The jobs at the last update."""
        self._untold: dict[int, str] = {}
        """Jobs whose spool cannot be opened now, and why."""
        self._declare_at = 0.0
        """Monotonic seconds at which those are tried again."""

    def update(self, cluster: Cluster) -> None:
        """Begin what is new, begin again what a lost link ended, close what is complete."""
        live = {(job.run, job.attempt) for job in cluster.roster.holders()}
        self._declare_all(cluster)
        untold = [cluster.jobs[number] for number in self._untold if number in cluster.jobs]
        open_keys = live | {(job.run, job.attempt) for job in untold}
        for key, attempt in list(self._attempts.items()):
            for tail in attempt.tails.values():
                tail.over = key not in live
                self._keep_going(cluster, attempt, tail)
            if key not in open_keys and all(tail.collected for tail in attempt.tails.values()):
                self._finish(key, attempt)

    @property
    def alert(self) -> str:
        """Which output cannot be kept now, or empty."""
        return next(iter(self._untold.values()), "")

    def is_complete(self, job: Job) -> bool:
        """Nothing that the attempt printed is still on its way."""
        has_streams = any(part.streams for part in job.parts)
        return not has_streams or (job.run, job.attempt) in self._finished

    async def close(self) -> None:
        tails = [tail for attempt in self._attempts.values() for tail in attempt.tails.values()]
        tasks = [tail.task for tail in tails if tail.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for attempt in self._attempts.values():
            attempt.spool.close()

    def _declare_all(self, cluster: Cluster) -> None:
        """The streams of jobs that changed, and of those whose spool was in trouble a while ago."""
        jobs = {job.id: job for job in cluster.roster.changed_since(self._seen)}
        if time.monotonic() >= self._declare_at:
            jobs |= {n: cluster.jobs[n] for n in self._untold if n in cluster.jobs}
            self._declare_at = time.monotonic() + DECLARE_AGAIN_S
        else:
            jobs = {number: job for number, job in jobs.items() if number not in self._untold}
        for job in jobs.values():
            if not job.parts or (job.run, job.attempt) in self._finished:
                self._untold.pop(job.id, None)
                continue
            try:
                self._declare(job)
                self._untold.pop(job.id, None)
            except (OSError, ForeignSpool, UnicodeDecodeError) as error:
                words = f"the output of job {job.id} cannot be kept here ({error})"
                cure = "free some disk space or mend its directory; it waits on its nodes"
                self._untold[job.id] = f"{words}: {cure}"
                _log.error("%s", self._untold[job.id])
        self._seen = cluster.roster

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
                    tail = self._tail(job, part, stream, attempt.spool)
                    attempt.tails[stream.name] = tail
                    self._news.catch_up(attempt.spool, tail)

    def _tail(self, job: Job, part: Part, stream: Stream, spool: AttemptSpool) -> Tail:
        spool.declare(stream.name, part.node, stream.rank)
        offset, collected = self._store.parsed(job.run, job.attempt, stream.name)
        if offset > spool.size(stream.name):
            offset = 0  # The engine ended between the replacement and its note of it.
        has_metrics = stream.rank == 0 and stream.stream == "stdout"
        reader = MetricReader(offset) if has_metrics else None
        return Tail(job.id, job.run, job.attempt, part.node, stream, reader, collected)

    def _keep_going(self, cluster: Cluster, attempt: _Attempt, tail: Tail) -> None:
        node = cluster.nodes.get(tail.node)
        is_up = node is not None and node.link is LinkState.UP
        if tail.task is not None and not is_up:
            tail.task.cancel()
            tail.task, tail.handle = None, None
        if node is None and tail.over and not tail.collected:
            self._give_up(tail, f"{tail.node} is not in cockpit.toml any more")
        if tail.collected or tail.task is not None or not is_up:
            return
        tail.task = asyncio.get_running_loop().create_task(self._follow(attempt.spool, tail))

    async def _follow(self, spool: AttemptSpool, tail: Tail) -> None:
        """One follow over one link; ended by the link or by the end of the run."""
        done: _Done = asyncio.get_running_loop().create_future()
        tail.owed = 0
        try:
            if tail.is_replaced:
                self._begin_anew(spool, tail)
            self._news.catch_up(spool, tail)
            tail.handle = await self._nodes.follow(
                tail.node,
                _body(tail, spool.size(tail.stream.name)),
                lambda event: self._heard(spool, tail, event, done),
            )
            tail.handle.grant(tail.owed)
            await self._end_of(tail, done)
            await tail.handle.close()
            await asyncio.sleep(done.result())
        except (Refusal, Unreachable, OSError) as error:
            _log.info("%s on %s is not followed: %s", tail.stream.name, tail.node, error)
            if tail.over and isinstance(error, Refusal) and _is_final(error):
                self._give_up(tail, error.message)
            await asyncio.sleep(AGAIN_S)
        finally:
            done.cancel()
            if tail.task is asyncio.current_task():
                tail.task, tail.handle = None, None

    async def _end_of(self, tail: Tail, done: _Done) -> None:
        """Until nothing more comes, or nothing came for too long of a run that is over."""
        while not done.done():
            heard, was_over = tail.heard, tail.over
            await asyncio.wait({done}, timeout=SILENCE_S)
            if was_over and tail.heard == heard and not done.done():
                self._give_up(tail, f"{tail.node} sent nothing of it for {SILENCE_S:.0f} s")
                done.set_result(0.0)

    def _heard(self, spool: AttemptSpool, tail: Tail, event: FollowEvent, done: _Done) -> None:
        """One event of a follow that is not done; what a disk does not take is followed anew."""
        if done.done():
            return
        tail.heard += 1
        name = tail.stream.name
        try:
            match event:
                case Appended(offset, data):
                    self._append(spool, tail, offset, data)
                case Replaced():
                    self._begin_anew(spool, tail)
                case Ended(offset):
                    tail.collected = spool.size(name) >= offset
                    self._news.mark(tail)
                    done.set_result(0.0 if tail.collected else AGAIN_S)
                case LinkEnded():
                    done.set_result(0.0)
        except (SpoolGap, OSError) as error:
            _log.warning("%s of %s: %s; following it anew", name, tail.node, error)
            done.set_result(AGAIN_S)

    def _append(self, spool: AttemptSpool, tail: Tail, offset: int, data: bytes) -> None:
        """Raises SpoolGap or OSError; what was kept until then is read before the next follow."""
        before = spool.size(tail.stream.name)
        spool.append(tail.stream.name, offset, data)
        self._news.read(tail, [data[max(0, before - offset) :]])
        if tail.handle is None:
            tail.owed += len(data)
        else:
            tail.handle.grant(len(data))

    def _begin_anew(self, spool: AttemptSpool, tail: Tail) -> None:
        """The node's file is another one now. Raises OSError, to be called again later."""
        tail.is_replaced = True
        spool.replaced(tail.stream.name)
        tail.is_replaced = False
        tail.metrics = MetricReader(0) if tail.metrics else None
        self._news.mark(tail)
        try:
            with self._store.transaction():
                self._store.mark_parsed(tail.run, tail.attempt, tail.stream.name, 0, False)
        except sqlite3.DatabaseError as error:
            _log.warning("%s of %s: %s; noted later", tail.stream.name, tail.node, error)

    def _give_up(self, tail: Tail, why: str) -> None:
        """Nobody waits for the rest any more; people are told that it is missing."""
        tail.collected = True
        self._news.mark(tail)
        words = f"the end of {tail.stream.name} on {tail.node} was not read: {why}"
        self._news.tell(tail, words)

    def _finish(self, key: tuple[str, int], attempt: _Attempt) -> None:
        attempt.spool.close()
        del self._attempts[key]
        self._finished.add(key)


def _body(tail: Tail, offset: int) -> dict[str, str | int]:
    """Of a follow."""
    return {
        "run": tail.run,
        "attempt": tail.attempt,
        "name": tail.stream.name,
        "offset": offset,
        "credit": CREDIT,
    }


def _is_final(refusal: Refusal) -> bool:
    """Of a run that is over: it will not come back to the node."""
    return refusal.code == "Gone" or not refusal.retry
