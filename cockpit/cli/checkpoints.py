"""`cockpit checkpoints`: what a job could be restarted from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import one_job, open_store
from cockpit.cli.say import NO_CONNECTION, Failure, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job
from cockpit.ui.model import Found, Unavailable

CONNECT_S = 30.0


@click.command()
@click.argument("job", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a checkpoint.")
@click.pass_obj
def checkpoints(setting: Setting, job: int, as_json: bool) -> None:
    """List the checkpoints of JOB, newest first, complete or why not."""
    place = setting.place()
    with open_store(place) as store:
        found = one_job(place, store, job)
    listed = asyncio.run(list_of(place, found))
    for row in listed:
        if as_json:
            put_json(asdict(row))
        else:
            put(_line(row))
    if not listed and not as_json:
        put(f"job {job} has no checkpoint on {found.home}")


async def list_of(place: Place, job: Job) -> Sequence[Found]:
    """Newest first, over a link of its own. Raises Failure."""
    if job.home is None:
        raise Failure(f"job {job.id} never ran, so it has no checkpoint yet")
    from cockpit.build.links import looking
    from cockpit.build.model import list_checkpoints

    async with looking(place, job.home) as look:
        cluster = await look.settled(CONNECT_S)
        try:
            return await list_checkpoints(look.nodes, replace(cluster, jobs={job.id: job}), job.id)
        except Unavailable as error:
            raise Failure(str(error), NO_CONNECTION) from error


def _line(row: Found) -> str:
    when = "-" if row.time is None else time.strftime("%F %T", time.localtime(row.time))
    state = "complete" if row.complete else f"not complete: {row.reason}"
    return f"step {row.step:>9}  {row.bytes / 1e6:>10.1f} MB  {when}  {state}  {row.path}"
