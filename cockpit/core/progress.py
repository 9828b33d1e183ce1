"""How far a job came and how long it still takes, from the figures that its trainer prints."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cockpit.core.jobs import Job

TOTAL = "total_steps"
"""Metric that names the step at which the training ends."""
STEP_TIME = "step_time_s"
"""Metric that names the seconds of a step."""


@dataclass(frozen=True, slots=True)
class Progress:
    step: int
    total: int
    left_s: float | None
    """Seconds that the remaining steps take at the newest pace, None if it is not known."""

    @property
    def fraction(self) -> float:
        """0 to 1."""
        return min(1.0, self.step / self.total)


def progress_of(job: Job) -> Progress | None:
    """None where the trainer did not say how many steps there are."""
    total = job.values.get(TOTAL, math.nan)
    if job.step is None or not math.isfinite(total) or total < 1:
        return None
    pace = job.values.get(STEP_TIME, math.nan)
    left = max(0, int(total) - job.step)
    known = math.isfinite(pace) and pace >= 0
    return Progress(max(0, job.step), int(total), left * pace if known else None)


def bar(fraction: float, cells: int) -> str:
    """A bar of `cells` characters, full to an eighth of one."""
    eighths = round(max(0.0, min(1.0, fraction)) * cells * 8)
    full, rest = divmod(eighths, 8)
    part = " ▏▎▍▌▋▊▉"[rest].strip()
    return ("█" * full + part).ljust(cells, "·")
