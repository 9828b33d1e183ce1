"""One job as one line of a table, in Slurm's words; pure, so that it is tested without a screen."""

from __future__ import annotations

from dataclasses import dataclass

from cockpit.core.cluster import Cluster
from cockpit.core.figures import counted
from cockpit.core.job_time import run_time
from cockpit.core.jobs import Job, JobState
from cockpit.core.progress import progress_of
from cockpit.core.text import visible
from cockpit.ui.hostlist import folded


@dataclass(frozen=True, slots=True)
class JobRow:
    """Every field is safe to show."""

    letter: str
    id: str
    name: str
    state: str
    """Slurm's code."""
    time: str
    """Of the current attempt's run."""
    shape: str
    progress: str
    place: str
    """Slurm's NODELIST(REASON)."""


def job_row(cluster: Cluster, job: Job, letter: str) -> JobRow:
    return JobRow(
        letter,
        str(job.id),
        visible(job.name, 64),
        job.state.code,
        run_time(job, cluster.now.wall),
        job.request.shape,
        visible(progress(job)),
        visible(place(job)),
    )


def progress(job: Job) -> str:
    """What takes time, or the newest step and loss."""
    if job.phase and not job.state.is_over:
        return job.phase
    found = progress_of(job)
    words = [] if job.step is None else [f"step {job.step:,}"]
    if found is not None:
        words.append(f"{found.fraction:.0%}")
    if "loss" in job.values:
        words.append(f"loss {job.values['loss']:.4g}")
    return " ".join(words)


def place(job: Job) -> str:
    """The nodes it holds; the reason of one that holds none."""
    nodes = folded(job.nodes)
    if job.state.is_over:
        code = "" if job.code in (None, 0) else f"exit {job.code}"
        words = (nodes, code, f"({job.reason})" if job.reason else "")
        return " ".join(word for word in words if word)
    if not job.state.holds_units:
        return f"({job.reason or 'waiting for its turn'})"
    return f"{nodes} ({job.reason})" if job.reason else nodes


def matches(row: JobRow, wanted: str) -> bool:
    """Every word is in some column."""
    everything = f"{row.id} {row.name} {row.state} {row.shape} {row.progress} {row.place}"
    return all(word in everything.casefold() for word in wanted.casefold().split())


def reason(job: Job) -> str:
    """Why it waits or how it ended, whole; of a job that runs, on which nodes."""
    if job.reason:
        return job.reason
    if job.state.holds_units:
        return f"attempt {job.attempt} on {folded(job.nodes)}, {counted(job.ranks, 'rank')}"
    return "waiting for its turn" if job.state is JobState.PENDING else job.state.value
