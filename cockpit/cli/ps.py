"""`cockpit ps`: jobs, as squeue shows them."""

from __future__ import annotations

import time

import click

from cockpit.cli.jobs import all_jobs, open_store, record
from cockpit.cli.say import put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.job_time import run_time
from cockpit.core.jobs import Job

RECENT_S = 24 * 3600
"""Seconds for which a job that is over is still listed."""
_ROW = "{:>6}  {:<24}  {:<8}  {:<2}  {:>11}  {:>7}  {}"


@click.command()
@click.option("-a", "--all", "everything", is_flag=True, help="Also jobs that ended long ago.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a job.")
@click.pass_obj
def ps(setting: Setting, everything: bool, as_json: bool) -> None:
    """List jobs: waiting, running, and those that ended within a day."""
    place = setting.place()
    with open_store(place) as store:
        jobs = all_jobs(place, store)
    now = time.time()
    listed = [job for job in jobs.values() if everything or _is_recent(job, now)]
    if as_json:
        for job in listed:
            put_json(record(job))
        return
    put(_ROW.format("JOBID", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"))
    for job in listed:
        put(_line(job, now))


def _is_recent(job: Job, now: float) -> bool:
    return not job.state.is_over or job.ended is None or now - job.ended < RECENT_S


def _line(job: Job, now: float) -> str:
    where = ",".join(job.nodes) if job.state.holds_units else ""
    reason = f"({job.reason})" if job.reason else ""
    return _ROW.format(
        job.id,
        job.name[:24],
        job.request.user[:8],
        job.state.code,
        run_time(job, now),
        job.request.shape,
        " ".join(word for word in (where, reason) if word),
    ).rstrip()
