"""A gang starts in two phases, and a start that is not complete is undone on every node."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import Cluster
from cockpit.core.effects import Abort, Confirm, Effect, Go, Note
from cockpit.core.events import EngineStarted, Prepared, Started, StartRefused, Try, Undone
from cockpit.core.jobs import After, Job, JobState, PartState
from cockpit.core.moves import (
    TEARDOWN_GRACE_S,
    end_part,
    find,
    move,
    settle,
    stopping,
    try_of,
    with_job,
    with_part,
)

RETRY_AFTER_S = 5.0
"""Seconds before a refused job is tried again."""

Outcome = tuple[Cluster, list[Effect]]


def prepared(cluster: Cluster, event: Prepared) -> Outcome:
    """Once every node holds its share, all are told to go, with the port of node rank 0."""
    job = _configuring(cluster, event.of)
    part = job.part(event.of.node) if job else None
    if job is None or part is None or part.state is not PartState.ASKED:
        return cluster, []
    job = with_part(job, replace(part, state=PartState.PREPARED, port=event.port))
    ready = sum(part.state is PartState.PREPARED for part in job.parts)
    if ready < len(job.parts):
        phase = f"preparing {ready}/{len(job.parts)} nodes"
        return with_job(cluster, replace(job, phase=phase)), []
    job = replace(job, gone=True, phase=f"starting 0/{len(job.parts)} nodes")
    port = job.parts[0].port
    return with_job(cluster, job), [Go(try_of(job, node), port) for node in job.nodes]


def started(cluster: Cluster, event: Started) -> Outcome:
    """Once every launcher runs, all supervisors are told so, and the job runs."""
    job = _configuring(cluster, event.of)
    part = job.part(event.of.node) if job else None
    if job is None or part is None:
        return cluster, []
    if part.state is PartState.PREPARED:
        job = with_part(job, replace(part, state=PartState.STARTED))
    running = sum(part.state in (PartState.STARTED, PartState.ENDED) for part in job.parts)
    if running < len(job.parts):
        phase = f"starting {running}/{len(job.parts)} nodes"
        return with_job(cluster, replace(job, phase=phase)), []
    job = replace(
        move(job, JobState.RUNNING),
        started=cluster.now.wall,
        home=job.parts[0].node,
        phase="started",
        step=None if job.resume is None else job.resume.step,
    )
    note = Note(job.id, f"attempt {job.attempt} runs on {', '.join(job.nodes)}")
    confirms: list[Effect] = [Confirm(try_of(job, node)) for node in job.nodes]
    cluster, effects = settle(cluster, job)
    return cluster, [*confirms, note, *effects]


def refused(cluster: Cluster, event: StartRefused) -> Outcome:
    """One no undoes all; the job waits or fails with that reason."""
    job = _configuring(cluster, event.of)
    if job is None:
        return cluster, []
    after = After.REQUEUED if event.retry else After.FAILED
    job = replace(job, retry_at=cluster.now.mono + RETRY_AFTER_S)
    return undo(cluster, job, after, f"{event.of.node}: {event.message}")


def undo(cluster: Cluster, job: Job, after: After, reason: str) -> Outcome:
    """Take back a start on every node; the job is completing until all say it is undone."""
    job = stopping(cluster, job, TEARDOWN_GRACE_S, reason, "undoing the start")
    job = replace(job, after=after)
    aborts: list[Effect] = [Abort(try_of(job, node)) for node in job.nodes]
    note = Note(job.id, f"not started: {reason}")
    cluster, effects = settle(cluster, job)
    return cluster, [note, *aborts, *effects]


def undone(cluster: Cluster, event: Undone) -> Outcome:
    job = find(cluster, event.of.run, event.of.attempt)
    if job is None or job.state is not JobState.COMPLETING or job.claim != event.of.claim:
        return cluster, []
    part = job.part(event.of.node)
    return settle(cluster, end_part(job, event.of.node, part.exit if part else None))


def engine_started(cluster: Cluster, event: EngineStarted) -> Outcome:
    """An engine that starts cannot know what was acknowledged to the one before.

    Silence counts from now on, and moments of a clock that a reboot set back count for nothing.
    """
    nodes = {name: replace(node, changed=event.at) for name, node in cluster.nodes.items()}
    cluster = replace(cluster, nodes=nodes, began=event.at, outlook=None)
    for job in cluster.jobs.values():
        if job.retry_at or job.stop_at is not None:
            stop_at = None if job.stop_at is None else event.at.mono
            cluster = with_job(cluster, replace(job, retry_at=0.0, stop_at=stop_at))
    effects: list[Effect] = []
    for job in cluster.roster.holders():
        if job.state is JobState.CONFIGURING:
            reason = "the engine ended in the middle of its start"
            cluster, more = undo(cluster, job, After.REQUEUED, reason)
            effects += more
    return cluster, effects


def _configuring(cluster: Cluster, of: Try) -> Job | None:
    job = find(cluster, of.run, of.attempt)
    if job is None or job.state is not JobState.CONFIGURING or job.claim != of.claim:
        return None
    return job
