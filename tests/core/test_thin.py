"""Thinning keeps the spikes, drops what cannot be drawn, and counts what it dropped."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from cockpit.core.thin import Thinned, scaled, thin, ticks

ANY = st.lists(st.tuples(st.floats(), st.floats()), max_size=300)


def test_a_spike_survives() -> None:
    ys = [1.0] * 100_000
    ys[77_777] = 50.0
    ys[12_345] = -3.0
    found = thin(range(len(ys)), ys, 60)
    assert len(found.xs) <= 120
    assert (77_777, 50.0) in zip(found.xs, found.ys, strict=True)
    assert (12_345, -3.0) in zip(found.xs, found.ys, strict=True)


def test_what_is_not_finite_is_counted() -> None:
    ys = [1.0, math.nan, math.inf, -math.inf, 1e308, 2.0, math.nan]
    found = thin(range(7), ys, 10)
    assert (found.ys, found.nans, found.infinite) == ((1.0, 2.0), 2, 3)
    assert found.last is not None
    assert math.isnan(found.last)
    assert thin([], [], 10) == Thinned()


def test_time_that_goes_backwards_is_put_in_order() -> None:
    found = thin([3, 1, 2], [30, 10, 20], 10)
    assert (found.xs, found.ys) == ((1, 2, 3), (10, 20, 30))


def test_ticks_are_round_numbers() -> None:
    assert ticks(2.1, 3.7, 4) == [2.5, 3.0, 3.5]
    assert ticks(0, 41_200, 4) == [0, 20_000, 40_000]
    assert ticks(1, 750, 3) == [200, 400, 600]
    assert ticks(5, 5, 4) == [5]


@given(ANY, st.integers(1, 50))
def test_no_series_raises_and_everything_drawn_is_within_the_limits(
    points: list[tuple[float, float]], columns: int
) -> None:
    found = thin([x for x, _ in points], [y for _, y in points], columns)
    assert list(found.xs) == sorted(found.xs)
    if found.ys:
        low, high = min(found.ys), max(found.ys)
        assert all(0 <= value <= 1 for value in scaled(found.ys, low, high))
        marks = ticks(low, high, 4)
        assert all(math.isfinite(mark) for mark in marks)
        assert len(marks) <= 4
