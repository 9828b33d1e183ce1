"""`cockpit restart`: the next attempt of a job, from a checkpoint."""

from __future__ import annotations

import shlex
import time

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import HOW_TO_RUN, has_engine, one_job, open_store, record
from cockpit.cli.say import note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Checkpoint, Job, JobState, Resume

PERIOD_S = 0.1


@click.command()
@click.argument("job", type=int)
@click.option(
    "--from",
    "source",
    default="newest",
    show_default=True,
    help="`newest`, `nothing`, or the path of a checkpoint on the node of rank 0.",
)
@click.option("--no-wait", is_flag=True, help="Do not wait until it is known where it goes on.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def restart(setting: Setting, job: int, source: str, no_wait: bool, as_json: bool) -> None:
    """Stop what is left of JOB, then start it again from its newest complete checkpoint."""
    from cockpit.engine.ids import new_run
    from cockpit.engine.orders import restart_body

    place = setting.place()
    with open_store(place) as store:
        before = one_job(place, store, job)
        body = restart_body(_wanted(source))
        store.order(new_run(), time.time(), "restart", job, body)
    if not has_engine(place):
        note(f"no engine is running, so the order waits: {HOW_TO_RUN}")
    after = before if no_wait or not has_engine(place) else _until_decided(place, before)
    if as_json:
        put_json({**record(after), "ordered": "restart"})
        return
    where = f"step {after.resume.step}" if after.resume else "the start"
    decided = after is not before
    put(f"job {job} restarts from {where}" if decided else f"job {job} is being restarted")
    put(shlex.join(after.request.argv))


def _wanted(source: str) -> Resume | Checkpoint:
    if source in (Resume.NEWEST.value, Resume.NOTHING.value):
        return Resume(source)
    name = source.rstrip("/").rpartition("/")[2]
    digits = name.rpartition("-")[2]
    return Checkpoint(int(digits) if digits.isdecimal() else 0, source)


def _until_decided(place: Place, before: Job) -> Job:
    """Once the next attempt starts, or cannot; tells what it waits for meanwhile."""
    told = ""
    with open_store(place) as store:
        while True:
            job = one_job(place, store, before.id)
            if job.attempt > before.attempt or (job.tries > before.tries):
                return job
            waits = job.state is JobState.PENDING and job.wanted is None and job is not before
            if waits and job.reason.startswith(("Resources", "Priority", "NodeDown")):
                return job
            words = job.phase or job.reason
            if words and words != told:
                note(f"{job.state}: {words}")
                told = words
            if not has_engine(place):
                return job
            time.sleep(PERIOD_S)
