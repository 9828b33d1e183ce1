"""`cockpit wait`: until jobs are over."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import HOW_TO_RUN, has_engine, one_job, open_store, record
from cockpit.cli.say import Failure, note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job

PERIOD_S = 0.1
TIMED_OUT = 124


@click.command()
@click.argument("jobs", type=int, nargs=-1, required=True)
@click.option("--timeout", type=click.FloatRange(0), help="Seconds to wait at most; then 124.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job.")
@click.pass_obj
def wait(setting: Setting, jobs: tuple[int, ...], timeout: float | None, as_json: bool) -> int:
    """Wait until all JOBS are over; end with the exit code of the first that failed."""
    place = setting.place()
    with open_store(place) as store:
        for number in jobs:
            one_job(place, store, number)
    if not has_engine(place):
        note(f"no engine is running: {HOW_TO_RUN}")
    return wait_for(place, jobs, timeout, as_json)


def wait_for(place: Place, jobs: Sequence[int], timeout_s: float | None, as_json: bool) -> int:
    """The exit code of the first of `jobs` that failed, 0 if none did. Raises Failure (124)."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    with open_store(place) as store:
        code = 0
        for number in jobs:
            job = one_job(place, store, number)
            while not job.state.is_over:
                if until is not None and time.monotonic() >= until:
                    raise Failure(f"job {number} is still {job.state}", TIMED_OUT)
                time.sleep(PERIOD_S)
                job = one_job(place, store, number)
            _tell(job, as_json)
            code = code or job.code or 0
    return code


def _tell(job: Job, as_json: bool) -> None:
    if as_json:
        put_json(record(job))
    else:
        put(f"job {job.id} {job.name}: {job.state}{f' ({job.reason})' if job.reason else ''}")
