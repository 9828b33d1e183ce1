"""One rule for the time of a job: that of its current attempt's run."""

from __future__ import annotations

import pytest

from cockpit.core.job_time import run_time
from cockpit.core.jobs import Job, JobState
from cockpit.core.request import Request

REQUEST = Request(run="r", argv=("train.py",), name="train")


@pytest.mark.parametrize(
    ("state", "started", "ended", "shown"),
    [
        (JobState.PENDING, None, None, "0:00"),
        (JobState.PENDING, 100.0, 200.0, "0:00"),
        (JobState.CONFIGURING, None, None, "0:00"),
        (JobState.CANCELLED, None, 500.0, "0:00"),
        (JobState.RUNNING, 250.0, None, "12:30"),
        (JobState.COMPLETED, 0.0, 11_050.0, "3:04:10"),
        (JobState.FAILED, 0.0, 1_051_200.0, "12-04:00:00"),
        (JobState.RUNNING, 1_001.0, None, "0:00"),
    ],
)
def test_the_time_of_a_job_is_that_of_its_run(
    state: JobState, started: float | None, ended: float | None, shown: str
) -> None:
    job = Job(1, REQUEST, state, submitted=1.0, started=started, ended=ended)
    assert run_time(job, 1_000.0) == shown
