"""What people order: submit, cancel, restart."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import Cluster
from cockpit.core.effects import Effect, Note
from cockpit.core.events import CancelOrdered, CheckpointsListed, JobSubmitted, RestartOrdered
from cockpit.core.jobs import After, Checkpoint, Exit, Job, JobState, PartState, Resume
from cockpit.core.moves import endings, find, forsake, look_up, move, settle, stopping, with_job
from cockpit.core.request import is_path
from cockpit.core.starting import undo
from cockpit.core.trouble import may_be_given_up

LOOK_AGAIN_S = 10.0
"""Seconds until a node that could not list its checkpoints is asked again."""

Outcome = tuple[Cluster, list[Effect]]


def submitted(cluster: Cluster, event: JobSubmitted) -> Outcome:
    if find(cluster, event.request.run) is not None:
        return cluster, []
    job = Job(id=event.job, request=event.request, submitted=event.submitted)
    return with_job(cluster, job), [Note(job.id, f"submitted as {job.name}, {job.request.shape}")]


def cancelled(cluster: Cluster, event: CancelOrdered) -> Outcome:
    """Stop a job; one that is being stopped already may be stopped harder, or given up for lost."""
    job = cluster.jobs.get(event.job)
    if job is None or job.state.is_over:
        return cluster, []
    grace = job.request.grace_s if event.grace_s is None else event.grace_s
    reason = "cancelled" if grace else "killed"
    job = replace(job, wanted=None)
    match job.state:
        case JobState.PENDING:
            job = replace(move(job, JobState.CANCELLED, reason), code=130, ended=cluster.now.wall)
            return with_job(cluster, job), [Note(job.id, reason)]
        case JobState.CONFIGURING:
            cluster, orders = undo(cluster, job, After.CANCELLED, reason)
            job = cluster.jobs[job.id]
        case _:
            job = replace(stopping(cluster, job, grace, reason), after=After.CANCELLED)
            orders = [Note(job.id, f"being stopped: {reason}"), *endings(job)]
    if event.forsake and not job.state.is_over:
        job = _forsake(cluster, job)
    cluster, effects = settle(cluster, job)
    return cluster, [*orders, *effects]


def _forsake(cluster: Cluster, job: Job) -> Job:
    for part in job.parts:
        if part.state is not PartState.ENDED and may_be_given_up(cluster, job, part):
            job = forsake(job, part.node, Exit(None, lost=True, reason="called lost by a person"))
    return job


def restarted(cluster: Cluster, event: RestartOrdered) -> Outcome:
    """Stop what is left, then start the next attempt from the checkpoint that is asked for."""
    job = cluster.jobs.get(event.job)
    if job is None:
        return cluster, []
    if isinstance(event.wanted, Checkpoint) and not is_path(event.wanted.path):
        words = f"{event.wanted.path!r} must be an absolute path on the nodes, on one line"
        return cluster, [Note(job.id, f"not restarted: {words}")]
    has_none = event.wanted is Resume.NEWEST and job.home is None
    job = replace(job, wanted=Resume.NOTHING if has_none else event.wanted)
    note: Effect = Note(job.id, "restart ordered")
    match job.state:
        case JobState.PENDING:
            return look_up(cluster, job)
        case JobState.CONFIGURING:
            return undo(cluster, job, After.RESTARTED, "restart ordered")
        case JobState.RUNNING | JobState.COMPLETING:
            job = stopping(cluster, job, job.request.grace_s, "restart ordered")
            job = replace(job, after=After.RESTARTED)
            cluster, effects = settle(cluster, job)
            return cluster, [note, *endings(job), *effects]
    cluster, effects = look_up(cluster, move(job, JobState.PENDING))
    return cluster, [note, *effects]


def checkpoints_listed(cluster: Cluster, event: CheckpointsListed) -> Outcome:
    """The newest complete checkpoint is where a waiting restart goes on; without one, from nothing."""
    job = find(cluster, event.run)
    if job is None or job.state is not JobState.PENDING or job.wanted is not Resume.NEWEST:
        return cluster, []
    if event.error is not None:
        again = cluster.now.mono + LOOK_AGAIN_S
        return with_job(cluster, replace(job, reason=event.error, retry_at=again)), []
    newest = event.complete[0] if event.complete else None
    words = f"resumes at step {newest.step}" if newest else "no complete checkpoint: from the start"
    job = replace(job, wanted=None, resume=newest, reason=words)
    return with_job(cluster, job), [Note(job.id, words)]


def retry_lookups(cluster: Cluster, node: str) -> Outcome:
    """A node came up: restarts that wait for its list of checkpoints ask again."""
    effects: list[Effect] = []
    for job in cluster.roster.lookers():
        if job.home == node:
            cluster, more = look_up(cluster, job)
            effects += more
    return cluster, effects


def look_up_again(cluster: Cluster) -> Outcome:
    """Time has passed: lookups that failed are tried again."""
    effects: list[Effect] = []
    for job in cluster.roster.lookers():
        if 0 < job.retry_at <= cluster.now.mono:
            cluster, more = look_up(cluster, job)
            effects += more
    return cluster, effects
