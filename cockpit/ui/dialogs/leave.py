"""Closing the screen: what goes on without it, or ends with it."""

from __future__ import annotations

from collections.abc import Mapping

from cockpit.core.jobs import Job, JobState
from cockpit.core.text import visible
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.hostlist import folded


class Leave(Ask):
    """Asked only where there are lines to show."""

    def __init__(self, jobs: Mapping[int, Job], ending: str = "") -> None:
        """`ending` says what quitting ends, where the jobs end with it."""
        living = [job for job in jobs.values() if not job.state.is_over]
        self.lines = _ending(living, ending) if ending else _going_on(living)
        title = "Quit? The jobs end with it." if ending else "Quit? The jobs go on."
        facts = [("", line) for line in self.lines]
        super().__init__(title, facts, "quit", "stay", danger=bool(ending))

    @property
    def farewell(self) -> str:
        """What to print when the screen is gone; safe to print."""
        return "\n".join(map(visible, self.lines))


def _ending(living: list[Job], ending: str) -> list[str]:
    return [*ending.splitlines(), *(f"job {job.id} {job.name} ends" for job in living)]


def _going_on(living: list[Job]) -> list[str]:
    waiting = sum(job.state is JobState.PENDING for job in living)
    lines = [
        f"job {job.id} {job.name} goes on, on {folded(job.nodes)}"
        for job in living
        if job.state is not JobState.PENDING
    ]
    if waiting:
        jobs = "1 waiting job starts" if waiting == 1 else f"{waiting} waiting jobs start"
        lines.append(f"{jobs} only while an engine runs; `cockpit daemon` is one without a screen")
    return lines
