"""`cockpit logs`: what the ranks print."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import has_engine, one_job, open_store
from cockpit.cli.say import Failure, note, put_json, put_raw
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job
from cockpit.core.log_text import metric, shown
from cockpit.engine.spool import Line, SpoolReader
from cockpit.engine.store import Store

PERIOD_S = 0.1
QUIET_S = 30.0
"""Seconds for which more lines of a job that is over are awaited, say while its node is away."""
PAGE = 2000
"""Lines read at once."""


@click.command()
@click.argument("job", type=int)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job is over.")
@click.option("-r", "--rank", "ranks", type=int, multiple=True, help="Only this rank; repeatable.")
@click.option("--attempt", type=click.IntRange(1), help="An earlier attempt; by default the last.")
@click.option("-n", "--tail", type=click.IntRange(0), help="Only the last lines so far.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_obj
def logs(
    setting: Setting,
    job: int,
    follow: bool,
    ranks: tuple[int, ...],
    attempt: int | None,
    tail: int | None,
    as_json: bool,
) -> None:
    """Print the lines of JOB's ranks and of torchrun itself, merged, each as `rank@node text`."""
    place = setting.place()
    with open_store(place) as store:
        found = one_job(place, store, job)
        if follow:
            found = _once_started(place, store, found)
        number = _attempt(found, attempt)
        _check_ranks(found, ranks)
        reader = SpoolReader(place.paths.spool(found.run, number))
        asked = _Asked(place, store, found, number, reader, frozenset(ranks), follow)
        is_remote = not has_engine(place) and found.state.holds_units and number == found.attempt
        if is_remote:
            note("no engine is running: reading from the nodes")
            asyncio.run(_print_remote(asked, tail, as_json))
            return
        first = 0 if tail is None else max(0, asked.count() - tail)
        for line in asked.lines(first):
            _print(line, as_json)
        if follow:
            for words in asked.unread():
                note(words)


def _once_started(place: Place, store: Store, job: Job) -> Job:
    """Wait for the first attempt of a job, and tell what it waits for; no engine, no waiting."""
    told = ""
    while not job.attempt and not job.state.is_over and has_engine(place):
        if job.reason not in ("", told):
            note(f"job {job.id} waits: {job.reason}")
            told = job.reason
        time.sleep(PERIOD_S)
        job = one_job(place, store, job.id)
    return job


def _attempt(job: Job, asked: int | None) -> int:
    if not job.attempt:
        words = "never ran" if job.state.is_over else "has not started yet"
        raise Failure(f"job {job.id} {words}{f': {job.reason}' if job.reason else ''}")
    number = asked or job.attempt
    if number > job.attempt:
        raise Failure(f"job {job.id} has attempts 1 to {job.attempt}, not {number}")
    return number


def _check_ranks(job: Job, ranks: Collection[int]) -> None:
    for rank in ranks:
        if not 0 <= rank < job.ranks:
            raise Failure(f"job {job.id} has ranks 0 to {job.ranks - 1}, not {rank}")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which lines of which attempt."""

    place: Place
    store: Store
    job: Job
    attempt: int
    reader: SpoolReader
    ranks: frozenset[int]
    """Empty for all, and torchrun's own."""
    follow: bool

    def count(self) -> int:
        self._look()
        return self.reader.line_count

    def lines(self, at: int) -> Iterator[Line]:
        """Whole lines from `at` on; at the end also those whose LF never came."""
        news = time.monotonic()
        while True:
            job = one_job(self.place, self.store, self.job.id)
            news = news if job.state.is_over else time.monotonic()
            is_quiet = time.monotonic() - news >= QUIET_S
            over = not self.follow or is_quiet or self._is_collected(job)
            self._look()
            while page := self.reader.lines(at, PAGE):
                whole = [line for line in page if line.is_whole]
                yield from page if over else whole
                at += len(page) if over else len(whole)
                news = time.monotonic() if whole else news
                if len(whole) < len(page) and not over:
                    break
            if over:
                return
            time.sleep(PERIOD_S)

    def unread(self) -> Iterator[str]:
        """What is missing of an attempt that is over, a line for each node."""
        job = one_job(self.place, self.store, self.job.id)
        if job.attempt != self.attempt or not job.state.is_over:
            return
        collected = self.store.collected(job.run, job.attempt)
        for part in job.parts:
            rest = [stream.name for stream in part.streams if stream.name not in collected]
            if rest:
                words = f"the end of {', '.join(rest)} on {part.node} is not here yet"
                yield f"{words}; `cockpit logs {job.id}` shows it once the node was read again"
            elif part.exit is not None and part.exit.lost:
                yield f"{part.node} was lost: what was printed last there may be missing"

    def kept(self) -> Iterator[Line]:
        """The whole lines that are on this machine."""
        self._look()
        at = 0
        while page := [line for line in self.reader.lines(at, PAGE) if line.is_whole]:
            at += len(page)
            yield from page

    def _look(self) -> None:
        self.reader.refresh()
        if self.ranks:
            names = [entry.name for entry in self.reader.entries if entry.rank in self.ranks]
            self.reader.choose(names)

    def _is_collected(self, job: Job) -> bool:
        """Nothing more will come: the attempt is over and all is here, or nobody fetches it."""
        if job.attempt != self.attempt or not has_engine(self.place):
            return True
        if not job.state.is_over:
            return False
        names = [stream.name for part in job.parts for stream in part.streams]
        return all(self.store.parsed(job.run, self.attempt, name)[1] for name in names)


async def _print_remote(asked: _Asked, tail: int | None, as_json: bool) -> None:
    """What is here already, then the rest straight from the nodes; nothing of it is kept."""
    from cockpit.build.direct import direct_lines

    last = deque(asked.kept(), tail)
    if asked.follow or tail is None:
        while last:
            _print(last.popleft(), as_json)
    async for line in direct_lines(asked.place, asked.job, asked.follow):
        if asked.ranks and line.rank not in asked.ranks:
            continue
        if asked.follow or tail is None:
            _print(line, as_json)
        else:
            last.append(line)
    for line in last:
        _print(line, as_json)


def _print(line: Line, as_json: bool) -> None:
    text = shown(line.data, line.hidden)
    if as_json:
        record = {"rank": line.rank, "node": line.node, "stream": line.stream, "text": text}
        put_json(record)
    else:
        put_raw(f"{who(line.stream, line.rank, line.node)} {metric(line.data) or text}")


def who(stream: str, rank: int | None, node: str) -> str:
    """`3@gpu2`, `3@gpu2!` for stderr, `torchrun@gpu2` for the launcher."""
    return (
        f"{'torchrun' if rank is None else rank}@{node}{'!' if stream.endswith('stderr') else ''}"
    )
