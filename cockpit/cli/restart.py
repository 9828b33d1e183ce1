"""`cockpit restart`: the next attempt of a job, from a checkpoint."""

from __future__ import annotations

import asyncio
import shlex
import time

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import HOW_TO_RUN, has_engine, one_job, open_store, record
from cockpit.cli.say import Failure, note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import After, Checkpoint, Job, Resume, checkpoint_at

PERIOD_S = 0.1


@click.command()
@click.argument("job", type=int)
@click.option(
    "--from",
    "source",
    default="newest",
    show_default=True,
    metavar="WHERE",
    help="`newest`, `nothing`, a step, or an absolute path on the node of rank 0.",
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
        body = restart_body(_wanted(place, before, source))
        uid = new_run()
        store.order(uid, time.time(), "restart", job, body)
    is_awaited = has_engine(place) and not no_wait
    after = _decided(place, before, uid) if is_awaited else None
    if not has_engine(place):
        note(f"no engine is running, so the order waits: {HOW_TO_RUN}")
    if as_json:
        put_json({**record(after or before), "ordered": "restart"})
        return
    if after is None:
        put(f"job {job} is to be restarted")
    else:
        put(f"job {job} restarts from {after.resume.words if after.resume else 'the start'}")
    put(shlex.join(before.request.argv))


def _wanted(place: Place, job: Job, source: str) -> Resume | Checkpoint:
    """Raises Failure where there is no such checkpoint."""
    if source in (Resume.NEWEST.value, Resume.NOTHING.value):
        return Resume(source)
    if source.isdecimal():
        return _at_step(place, job, int(source))
    if not source.startswith("/") or "\n" in source:
        raise Failure(f"--from {source}: give newest, nothing, a step, or a path from the root on")
    return checkpoint_at(source)


def _at_step(place: Place, job: Job, step: int) -> Checkpoint:
    from cockpit.cli.checkpoints import list_of

    found = [row for row in asyncio.run(list_of(place, job)) if row.complete]
    for row in found:
        if row.step == step:
            return Checkpoint(row.step, row.path)
    steps = ", ".join(str(row.step) for row in found) or "none"
    raise Failure(f"job {job.id} has no complete checkpoint at step {step}; there are: {steps}")


def _decided(place: Place, before: Job, uid: str) -> Job | None:
    """The job once the engine took the order and knows where it goes on; None if it ended.

    Tells meanwhile what it waits for.
    """
    told = ""
    with open_store(place) as store:
        while has_engine(place):
            is_taken = store.is_done(uid)
            job = one_job(place, store, before.id)
            if is_taken and job.wanted is None and job.after is not After.RESTARTED:
                return job
            words = (job.phase or job.reason) if is_taken else ""
            if words and words != told:
                note(f"{job.state}: {words}")
                told = words
            time.sleep(PERIOD_S)
    return None
