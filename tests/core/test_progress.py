"""Progress of a run, whatever its trainer says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cockpit.core.jobs import Job
from cockpit.core.progress import Progress, bar, progress_of
from tests.core.play import asked


def job(step: int | None, **values: float) -> Job:
    return replace(Job(1, asked()), step=step, values=values)


def test_a_trainer_that_names_its_end_has_a_fraction_and_a_time() -> None:
    found = progress_of(job(25, total_steps=100.0, step_time_s=2.0))
    assert found == Progress(25, 100, 150.0)
    assert found.fraction == 0.25


@pytest.mark.parametrize(
    "values", [{}, {"total_steps": math.nan}, {"total_steps": math.inf}, {"total_steps": 0.0}]
)
def test_a_trainer_that_names_no_end_has_no_progress(values: dict[str, float]) -> None:
    assert progress_of(job(25, **values)) is None


def test_an_unknown_pace_is_unknown_and_too_many_steps_are_all_of_them() -> None:
    found = progress_of(job(120, total_steps=100.0, step_time_s=math.nan))
    assert found == Progress(120, 100, None)
    assert found.fraction == 1.0


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [(0.0, "····"), (0.5, "██··"), (0.53, "██▏·"), (1.0, "████"), (7.0, "████"), (-1.0, "····")],
)
def test_a_bar_is_as_long_as_it_should_be(fraction: float, drawn: str) -> None:
    assert bar(fraction, 4) == drawn
