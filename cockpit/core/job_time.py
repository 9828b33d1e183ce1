"""How long a job runs or ran, as squeue tells it: the current attempt alone, nothing before it starts."""

from __future__ import annotations

from cockpit.core.jobs import Job, JobState

_NOT_STARTED = frozenset({JobState.PENDING, JobState.CONFIGURING})


def run_seconds(job: Job, wall: float) -> float:
    """At `wall` Unix seconds, of the current attempt; 0 while it waits or is prepared."""
    if job.started is None or job.state in _NOT_STARTED:
        return 0.0
    return max(0.0, (wall if job.ended is None else job.ended) - job.started)


def run_time(job: Job, wall: float) -> str:
    """`0:00`, `12:30`, `3:04:10`, `12-04:00:00`: [days-][hours:]minutes:seconds."""
    minutes, seconds = divmod(int(run_seconds(job, wall)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
