"""`cockpit logs`: what the ranks print."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import has_engine, one_job, open_store
from cockpit.cli.say import Failure, note, put_json, put_raw
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job
from cockpit.core.log_text import shown
from cockpit.engine.spool import Line, SpoolReader
from cockpit.engine.store import Store

PERIOD_S = 0.1
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
        if found.attempt == 0 and found.state.is_over:
            raise Failure(f"job {job} never ran: {found.reason}")
        number = attempt or found.attempt
        if not 1 <= number <= max(found.attempt, 1):
            raise Failure(f"job {job} has attempts 1 to {found.attempt}, not {number}")
        _check_ranks(found, ranks)
        reader = SpoolReader(place.paths.spool(found.run, number))
        if not has_engine(place) and found.state.holds_units and number == found.attempt:
            asyncio.run(_without_engine(place, found, reader, set(ranks), follow, as_json))
            return
        first = 0 if tail is None else max(0, _count(reader, ranks) - tail)
        for line in _lines(place, store, found, number, reader, set(ranks), follow, first):
            _print(line, as_json)


def _check_ranks(job: Job, ranks: Collection[int]) -> None:
    for rank in ranks:
        if not 0 <= rank < job.ranks:
            raise Failure(f"job {job.id} has ranks 0 to {job.ranks - 1}, not {rank}")


def _choose(reader: SpoolReader, ranks: Collection[int]) -> None:
    if ranks:
        reader.choose([entry.name for entry in reader.entries if entry.rank in ranks])


def _count(reader: SpoolReader, ranks: Collection[int]) -> int:
    _choose(reader, ranks)
    return reader.line_count


def _lines(
    place: Place,
    store: Store,
    job: Job,
    attempt: int,
    reader: SpoolReader,
    ranks: Collection[int],
    follow: bool,
    at: int,
) -> Iterator[Line]:
    """Whole lines from `at` on; at the end also those whose LF never came."""
    while True:
        over = not follow or _is_collected(place, store, job.id, attempt)
        reader.refresh()
        _choose(reader, ranks)
        while page := reader.lines(at, PAGE):
            whole = [line for line in page if line.is_whole]
            yield from page if over else whole
            at += len(page) if over else len(whole)
            if len(whole) < len(page) and not over:
                break
        if over:
            return
        time.sleep(PERIOD_S)


def _is_collected(place: Place, store: Store, number: int, attempt: int) -> bool:
    """Nothing more will come: the attempt is over and all of it is here, or nobody fetches it."""
    job = one_job(place, store, number)
    if job.attempt != attempt or not has_engine(place):
        return True
    if not job.state.is_over:
        return False
    names = [stream.name for part in job.parts for stream in part.streams]
    return all(store.parsed(job.run, attempt, name)[1] for name in names)


def _print(line: Line, as_json: bool) -> None:
    text = shown(line.data, line.hidden)
    if as_json:
        record = {"rank": line.rank, "node": line.node, "stream": line.stream, "text": text}
        put_json(record)
    else:
        put_raw(f"{who(line.stream, line.rank, line.node)} {text}")


def who(stream: str, rank: int | None, node: str) -> str:
    """`3@gpu2`, `3@gpu2!` for stderr, `torchrun@gpu2` for the launcher."""
    return (
        f"{'torchrun' if rank is None else rank}@{node}{'!' if stream.endswith('stderr') else ''}"
    )


async def _without_engine(
    place: Place, job: Job, reader: SpoolReader, ranks: set[int], follow: bool, as_json: bool
) -> None:
    """What is here already, then the rest straight from the nodes; nothing of it is kept."""
    from cockpit.build.direct import direct_lines

    note("no engine is running: reading from the nodes")
    _choose(reader, ranks)
    at = 0
    while page := [line for line in reader.lines(at, PAGE) if line.is_whole]:
        at += len(page)
        for line in page:
            _print(line, as_json)
    async for line in direct_lines(place, job, follow):
        if not ranks or line.rank in ranks:
            _print(line, as_json)
