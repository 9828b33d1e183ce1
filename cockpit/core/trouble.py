"""What keeps a job from being watched over or from ending, in words, and when a person may end it."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import AWAY, Cluster
from cockpit.core.jobs import Job, JobState, Part, PartState
from cockpit.core.moves import TEARDOWN_GRACE_S
from cockpit.core.rooms import GONE

GRACE_STRETCH = 10
"""How many times its grace a node may give a run that still saves: GRACE_STRETCH of cockpit_node.environment."""
STUCK_S = 60.0
"""Seconds beyond its stretched grace after which a stop that a node does not finish may be given up."""


def with_trouble(cluster: Cluster, job: Job) -> Job:
    """The job as people see it: why it runs unwatched is its reason, why it does not end its phase."""
    words = trouble(cluster, job)
    if job.state is JobState.RUNNING:
        return job if job.reason == words else replace(job, reason=words)
    if job.state is not JobState.COMPLETING:
        return job
    way_out = f"; `cockpit cancel --lost {job.id}` gives it up"
    free = "stopping" if job.phase.endswith(way_out) else job.phase
    phase = words + way_out if words else free
    return job if job.phase == phase else replace(job, phase=phase)


def trouble(cluster: Cluster, job: Job) -> str:
    """Of all nodes on which it is not proven empty."""
    left = [part for part in job.parts if part.state is not PartState.ENDED]
    silent = [part.node for part in left if _is_silent(cluster, job, part)]
    found = [f"no answer from {', '.join(silent)}"] if silent else []
    found += [words for part in left if (words := _of(cluster, job, part))]
    return "; ".join(found)


def may_be_given_up(cluster: Cluster, job: Job, part: Part) -> bool:
    """Whether a person may call the part lost: nothing that the node says will end it soon."""
    node = cluster.nodes.get(part.node)
    if node is None or node.link in AWAY or part.doubt:
        return True
    return _is_stuck(cluster, job)


def _is_silent(cluster: Cluster, job: Job, part: Part) -> bool:
    """A job that runs is not troubled by silence: its ranks need no link."""
    node = cluster.nodes.get(part.node)
    return node is not None and node.link in AWAY and job.state is JobState.COMPLETING


def _of(cluster: Cluster, job: Job, part: Part) -> str:
    if part.node not in cluster.nodes:
        return f"{part.node} {GONE}"
    if part.doubt:
        return f"{part.node} cannot tell how it stands ({part.doubt})"
    if part.unsupervised and job.state is JobState.RUNNING:
        return f"unsupervised on {part.node}: its keeper was killed; cancel or restart ends it"
    if _is_stuck(cluster, job) and not _is_silent(cluster, job, part):
        return f"{part.node} does not end it"
    return ""


def _is_stuck(cluster: Cluster, job: Job) -> bool:
    if job.state is not JobState.COMPLETING or job.stop_at is None:
        return False
    grace = TEARDOWN_GRACE_S if job.grace_s is None else job.grace_s
    return cluster.now.mono - job.stop_at >= grace * GRACE_STRETCH + STUCK_S
