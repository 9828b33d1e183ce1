"""Figures stay short and true, whatever a training prints."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.core.figures import counted, short, whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2.1134, "2.113"),
        (127949.3, "127.9k"),
        (128000, "128k"),
        (9999, "9999"),
        (999_999, "1M"),
        (-4.2, "-4.2"),
        (3.1e-5, "3.1e-05"),
        (5e-324, "4.9e-324"),
        (1e300, "1.0e+300"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
    ],
)
def test_a_figure_in_about_four_digits(value: float, text: str) -> None:
    assert short(value) == text


def test_steps_have_commas() -> None:
    assert whole(41200) == "41,200"


def test_one_of_a_thing_is_told_as_one() -> None:
    assert [counted(n, "node") for n in (0, 1, 41_200)] == ["0 nodes", "1 node", "41,200 nodes"]
    assert counted(2, "process", "processes") == "2 processes"


@given(st.floats())
def test_no_figure_is_wide_and_none_lies(value: float) -> None:
    text = short(value)
    assert len(text) <= 9
    if abs(value) < 1e308:
        scale = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1], 1.0)
        assert float(text.rstrip("kMGT")) * scale == pytest.approx(value, rel=0.06)
