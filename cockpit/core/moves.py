"""How a job changes: the legal moves, and what it becomes when every node is empty."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import Cluster
from cockpit.core.effects import Abort, Effect, ListCheckpoints, Note, Stop
from cockpit.core.events import Try
from cockpit.core.jobs import MOVES, After, Exit, Job, JobState, Part, PartState, Resume
from cockpit.core.rooms import GONE
from cockpit.core.verdicts import code_of, first_failure, words_of

TEARDOWN_GRACE_S = 1
"""Seconds after a failure: a rank whose peer is dead cannot save, so there is nothing to wait for."""


def with_job(cluster: Cluster, job: Job) -> Cluster:
    return replace(cluster, jobs=cluster.roster.with_job(job))


def find(cluster: Cluster, run: str, attempt: int | None = None) -> Job | None:
    """The job of a run, if the fact is about its current attempt (None: about any)."""
    job = cluster.roster.of_run(run)
    return job if job is not None and attempt in (None, job.attempt) else None


def move(job: Job, state: JobState, reason: str = "") -> Job:
    """Raises ValueError on a move that is not in the table. What took time before is past."""
    if state not in MOVES[job.state]:
        raise ValueError(f"job {job.id}: {job.state} -> {state} is not a legal move")
    return replace(job, state=state, reason=reason, phase="")


def with_part(job: Job, part: Part) -> Job:
    return replace(job, parts=tuple(part if p.node == part.node else p for p in job.parts))


def try_of(job: Job, node: str) -> Try:
    return Try(job.run, job.attempt, job.claim, node)


def end_part(job: Job, node: str, how: Exit | None) -> Job:
    """The node proved that nothing of the attempt is left there."""
    part = job.part(node)
    if part is None or part.state is PartState.ENDED:
        return job
    ended = replace(part, state=PartState.ENDED, exit=how, unsupervised=False, doubt="")
    return with_part(job, ended)


def stopping(cluster: Cluster, job: Job, grace_s: int, reason: str, phase: str = "") -> Job:
    """The job on its way to its end; a stop that goes on already may only become harder."""
    if job.state is not JobState.COMPLETING:
        job = replace(move(job, JobState.COMPLETING), stop_at=cluster.now.mono)
    grace = grace_s if job.grace_s is None else min(grace_s, job.grace_s)
    phase = phase or f"stopping, {grace} s grace"
    return replace(job, reason=reason, grace_s=grace, phase=phase)


def forsake(job: Job, node: str, how: Exit) -> Job:
    """Nobody knows what is left there, so that the attempt's number must not be used again."""
    return replace(end_part(job, node, how), gone=True)


def endings(job: Job, node: str | None = None) -> list[Effect]:
    """Orders to end every part (or that on `node`) that is not proven empty."""
    return [
        _ending(job, part)
        for part in job.parts
        if part.state is not PartState.ENDED and node in (None, part.node)
    ]


def _ending(job: Job, part: Part) -> Effect:
    if part.state is PartState.STARTED:
        grace = TEARDOWN_GRACE_S if job.grace_s is None else job.grace_s
        return Stop(job.run, job.attempt, part.node, grace, job.reason)
    return Abort(try_of(job, part.node))


def settle(cluster: Cluster, job: Job) -> tuple[Cluster, list[Effect]]:
    """Store a job whose parts changed.

    A failed part ends the others; once all are empty the job becomes what it is to become.
    """
    effects: list[Effect] = []
    failed = first_failure(job)
    if job.state is JobState.RUNNING and failed is not None:
        reason = words_of(job, failed)
        job = stopping(cluster, job, TEARDOWN_GRACE_S, reason, "stopping the other ranks")
        effects = endings(job)
    if not job.state.holds_units or not job.is_empty:
        return with_job(cluster, job), effects
    if job.state is JobState.RUNNING:
        job = replace(job, code=0, ended=cluster.now.wall, phase="")
        return with_job(cluster, move(job, JobState.COMPLETED)), [Note(job.id, "completed")]
    if job.state is JobState.CONFIGURING:
        return with_job(cluster, job), []
    return _become(cluster, replace(job, phase=""))


def _become(cluster: Cluster, job: Job) -> tuple[Cluster, list[Effect]]:
    after = job.after
    job = replace(
        job,
        after=After.OUTCOME,
        attempt=job.spent,
        gone=True,
        grace_s=None,
        stop_at=None,
        ended=cluster.now.wall,
    )
    match after:
        case After.RESTARTED:
            return look_up(cluster, move(job, JobState.PENDING))
        case After.REQUEUED:
            return with_job(cluster, move(job, JobState.PENDING, job.reason)), []
        case After.CANCELLED:
            job = replace(move(job, JobState.CANCELLED, job.reason), code=130)
        case After.FAILED:
            job = replace(move(job, JobState.FAILED, job.reason), code=1)
        case After.OUTCOME:
            job = _outcome(job)
    return with_job(cluster, job), [Note(job.id, f"{job.state}: {job.reason}".rstrip(": "))]


def _outcome(job: Job) -> Job:
    failed = first_failure(job)
    if failed is None:
        return replace(move(job, JobState.COMPLETED), code=0)
    state = JobState.NODE_FAIL if failed.exit and failed.exit.lost else JobState.FAILED
    return replace(move(job, state, words_of(job, failed)), code=code_of(failed))


def look_up(cluster: Cluster, job: Job) -> tuple[Cluster, list[Effect]]:
    """A pending restart asks for the checkpoints on the node of rank 0, if it has to."""
    job = replace(job, code=None, ended=None, retry_at=0.0)
    if job.wanted is not Resume.NEWEST:
        resume = job.wanted if not isinstance(job.wanted, Resume) else None
        return with_job(cluster, replace(job, wanted=None, resume=resume)), []
    node = cluster.nodes.get(job.home or "")
    if node is None or node.facts is None or not node.is_up:
        why = GONE if node is None else "does not answer"
        reason = f"NodeDown: {job.home} has its checkpoints and {why}"
        return with_job(cluster, replace(job, reason=reason)), []
    directory = checkpoint_directory(cluster, job)
    job = replace(job, reason=f"looking for the newest checkpoint on {node.name}")
    return with_job(cluster, job), [ListCheckpoints(job.run, node.name, directory)]


def checkpoint_directory(cluster: Cluster, job: Job) -> str:
    """Where the job's checkpoints are on the node of rank 0 (docs/protocol.md, Spec)."""
    if job.request.checkpoint_dir:
        return job.request.checkpoint_dir
    node = cluster.nodes.get(job.home or "")
    root = node.facts.state_root if node and node.facts else ""
    return f"{root}/{job.home}/{job.run}/checkpoints"
