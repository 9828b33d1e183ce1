"""Graphs draw what can be drawn and say the rest in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.ui.model import Point
from cockpit.ui.widgets.curves import draw
from tests.ui.job_story import points

STRANGE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 1e-320, 5e-324, 1e299, -1e299, 3.0]


def series(values: list[float]) -> list[Point]:
    return [Point(1, step, 1.7e9 + step, value) for step, value in enumerate(values)]


def test_a_restart_is_marked_and_lost_values_are_counted() -> None:
    curve = draw(points()["loss"], 60, 15)
    assert curve.remarks == ("by step", "1 nan", "1 inf", "│ attempt 2 from step 401")
    assert len(curve.rows) == 15
    assert {len(row) for row in curve.rows} == {60}
    assert any("│" in row[5:-1] for row in curve.rows)


def test_readings_of_machines_are_drawn_over_minutes() -> None:
    curve = draw(points()["gpu_used_pct"], 60, 15, (0, 100))
    assert curve.remarks[0] == "by min"
    assert "".join(curve.rows).count("┤") >= 2


def test_a_single_point_is_a_dot() -> None:
    assert "●" in "".join(draw(series([2.0]), 40, 8).rows)


def test_without_a_finite_value_nothing_is_drawn_and_it_is_said() -> None:
    curve = draw(series([math.nan, math.inf, -math.inf]), 60, 15)
    assert (curve.rows, curve.remarks) == ((), ("by step", "1 nan", "2 inf"))
    assert draw([], 60, 15).rows == ()


@pytest.mark.parametrize("size", [(60, 15), (16, 5), (200, 60), (3, 2), (0, 0), (17, 5)])
def test_strange_values_fit_into_any_size(size: tuple[int, int]) -> None:
    for count in range(1, len(STRANGE) + 1):
        draw(series(STRANGE[:count]), *size)
        draw(series(STRANGE[-count:]), *size)


def test_time_that_goes_backwards_is_drawn() -> None:
    back = [Point(1, None, 1.7e9 - n * 60, float(n)) for n in range(100)]
    assert draw(back, 60, 15).rows


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(), max_size=40),
    times=st.lists(st.floats(), min_size=40, max_size=40),
    attempts=st.lists(st.integers(1, 4), min_size=40, max_size=40),
    by_step=st.booleans(),
)
def test_no_series_raises(
    values: list[float], times: list[float], attempts: list[int], by_step: bool
) -> None:
    made = [
        Point(attempt, 7 * n if by_step else None, time, value)
        for n, (attempt, time, value) in enumerate(zip(attempts, times, values, strict=False))
    ]
    curve = draw(made, 60, 15)
    assert all(len(row) == 60 for row in curve.rows)
