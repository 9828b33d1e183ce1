"""`cockpit cancel`: stop jobs on all their nodes."""

from __future__ import annotations

import sys
import time

import click

from cockpit.cli.jobs import HOW_TO_RUN, has_engine, one_job, open_store, record
from cockpit.cli.say import Failure, note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job


@click.command()
@click.argument("jobs", type=int, nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--grace", type=click.IntRange(0, 86400), help="Seconds between TERM and KILL.")
@click.option(
    "--lost", is_flag=True, help="Give up nodes that do not answer, cannot tell, or do not end it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job.")
@click.pass_obj
def cancel(
    setting: Setting, jobs: tuple[int, ...], yes: bool, grace: int | None, lost: bool, as_json: bool
) -> None:
    """Stop JOBS: TERM, then after their grace KILL to all that is left, on every node."""
    from cockpit.engine.ids import new_run
    from cockpit.engine.orders import cancel_body

    place = setting.place()
    with open_store(place) as store:
        found = [one_job(place, store, number) for number in jobs]
        live = [job for job in found if not job.state.is_over]
        for job in found:
            if job not in live:
                note(f"job {job.id} is over already: {job.state}")
                if as_json:
                    put_json({**record(job), "ordered": None})
        if live and not yes:
            _ask(live)
        for job in live:
            store.order(new_run(), time.time(), "cancel", job.id, cancel_body(grace, lost))
            if as_json:
                put_json({**record(job), "ordered": "cancel"})
            else:
                put(f"job {job.id} {job.name} is being cancelled")
    if live and not has_engine(place):
        note(f"no engine is running, so the order waits: {HOW_TO_RUN}")


def _ask(jobs: list[Job]) -> None:
    if not sys.stdin.isatty():
        raise Failure("cancel asks first; give --yes where nobody can answer")
    for job in jobs:
        where = f" on {', '.join(job.nodes)}" if job.state.holds_units else ""
        saved = f", last checkpoint at step {job.checkpoint.step}" if job.checkpoint else ""
        note(f"job {job.id} {job.name}: {job.state}{where}{saved}")
    click.confirm("End them?" if len(jobs) > 1 else "End it?", abort=True, err=True)
