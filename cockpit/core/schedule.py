"""In which order waiting jobs start: the oldest first, each with all its units or none."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.allocate import Shortage, allocate
from cockpit.core.cluster import Cluster
from cockpit.core.effects import Effect, Note, Prepare
from cockpit.core.jobs import Job, JobState, Part
from cockpit.core.launch_plan import spec
from cockpit.core.moves import move, try_of, with_job
from cockpit.core.request import BadRequest


def start_what_fits(cluster: Cluster) -> tuple[Cluster, list[Effect]]:
    """First in, first out: a job that would fit in an emptier cluster holds back those behind it."""
    effects: list[Effect] = []
    blocker: Job | None = None
    for job in list(cluster.jobs.values()):
        if job.state is not JobState.PENDING or job.wanted is not None:
            continue
        if job.retry_at > cluster.now.mono:
            continue
        if blocker is not None:
            cluster = _waits(cluster, job, f"Priority: behind job {blocker.id}")
            continue
        placed = allocate(cluster, job.request, job.home if job.resume else None, job.nodes)
        if isinstance(placed, Shortage):
            cluster, more = _short(cluster, job, placed)
            effects += more
            blocker = job if placed.blocks else None
            continue
        cluster, more = _start(cluster, job, placed)
        effects += more
    return cluster, effects


def _waits(cluster: Cluster, job: Job, reason: str) -> Cluster:
    return cluster if job.reason == reason else with_job(cluster, replace(job, reason=reason))


def _short(cluster: Cluster, job: Job, shortage: Shortage) -> tuple[Cluster, list[Effect]]:
    if not shortage.never:
        return _waits(cluster, job, shortage.reason), []
    return _fail(cluster, job, shortage.reason)


def _fail(cluster: Cluster, job: Job, reason: str) -> tuple[Cluster, list[Effect]]:
    failed = replace(move(job, JobState.FAILED, reason), code=1, ended=cluster.now.wall)
    return with_job(cluster, failed), [Note(job.id, f"failed: {reason}")]


def _start(cluster: Cluster, job: Job, parts: tuple[Part, ...]) -> tuple[Cluster, list[Effect]]:
    started = replace(
        move(job, JobState.CONFIGURING),
        attempt=job.attempt + 1,
        tries=job.tries + 1,
        parts=parts,
        gone=False,
        code=None,
        started=None,
        ended=None,
        phase=f"preparing 0/{len(parts)} nodes",
    )
    try:
        specs = [spec(cluster, started, part) for part in parts]
    except BadRequest as error:
        return _fail(cluster, job, str(error))
    orders: list[Effect] = [
        Prepare(try_of(started, part.node), told) for part, told in zip(parts, specs, strict=True)
    ]
    return with_job(cluster, started), orders
