"""GPU figures of running jobs as metrics, so that curves of the machine stand beside those of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cockpit.core.cluster import Cluster, Gpu
from cockpit.core.jobs import Job, JobState
from cockpit.engine.store import MetricRow

PERIOD_S = 2.0
"""Seconds between two points."""


def rows(cluster: Cluster) -> Iterator[MetricRow]:
    """The mean over each running job's GPUs; unknown readings count for nothing."""
    for job in cluster.roster.holders():
        if job.state is JobState.RUNNING:
            used = _mean(gpu.used_pct for gpu in _gpus(cluster, job))
            if used is not None:
                now = cluster.now.wall
                yield MetricRow(job.id, "gpu_used_pct", job.attempt, None, now, used)


def _gpus(cluster: Cluster, job: Job) -> Iterator[Gpu]:
    for part in job.parts:
        node = cluster.nodes.get(part.node)
        if node is not None and node.is_up:
            yield from (u.gpu for u in node.units if u.gpu is not None and u.id in part.units)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
