"""One series as a plot of characters: plotext draws the curve, this module sees that it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plotext._figure import _figure_class as Figure

from cockpit.core.figures import short
from cockpit.core.text import visible
from cockpit.core.thin import Thinned, scaled, thin, ticks
from cockpit.ui.model import Point

LEAST_WIDTH, LEAST_HEIGHT = 16, 5
"""Cells below which no plot is drawn."""
SINGLE = "●"
"""How a value stands that has no other to be joined with."""
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Curve:
    """A drawn plot and what it could not show."""

    rows: tuple[str, ...]
    remarks: tuple[str, ...]
    """Values left out, restarts: in words."""


def draw(
    points: Sequence[Point], width: int, height: int, limits: tuple[float, float] | None = None
) -> Curve:
    """Each attempt its own curve, over steps where there are any, else over minutes.

    `limits` are those of the values, where they are known beforehand.
    """
    over, unit = _axis(points)
    by_attempt: dict[int, list[Point]] = {}
    for point in points:
        by_attempt.setdefault(point.attempt, []).append(point)
    series = {
        attempt: thin([over(point) for point in some], [point.value for point in some], width)
        for attempt, some in sorted(by_attempt.items())
    }
    remarks = (f"by {unit}", *_remarks(series, unit)) if points else ()
    drawn = [found for found in series.values() if found.xs]
    if not drawn or width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return Curve((), remarks)
    low, high = limits or (min(min(s.ys) for s in drawn), max(max(s.ys) for s in drawn))
    return Curve(tuple(_plot(drawn, low, high, width, height)), remarks)


def _axis(points: Sequence[Point]) -> tuple[Callable[[Point], float], str]:
    if any(point.step is not None for point in points):
        return (lambda point: float(point.step or 0)), "step"
    start = min((point.time for point in points), default=0.0)
    return (lambda point: (point.time - start) / 60), "min"


def _plot(series: Sequence[Thinned], low: float, high: float, width: int, height: int) -> list[str]:
    left, right = min(s.xs[0] for s in series), max(s.xs[-1] for s in series)
    # plotext fails on very large, very small and equal values: it is given 0 to 1 and our labels.
    figure = Figure()
    figure.theme("clear")
    figure.plotsize(width, height)
    figure.xlim(0, 1)
    figure.ylim(0, 1)
    for number, found in enumerate(series):
        xs, ys = scaled(found.xs, left, right), scaled(found.ys, low, high)
        if len(xs) == 1:
            figure.scatter(xs, ys, marker=SINGLE)
        else:
            figure.plot(xs, ys, marker="braille")
        if number:
            figure.vline(xs[0])
    _label(figure.yticks, ticks(low, high, max(3, height // 3)), low, high)
    _label(figure.xticks, ticks(left, right, max(3, width // 16)), left, right)
    rows = figure.build().replace(_RESET, "").rstrip("\n").split("\n")
    return [visible(row) for row in rows]


def _label(
    place: Callable[[list[float], list[str]], None], marks: list[float], low: float, high: float
) -> None:
    place(scaled(marks, low, high), [short(mark) for mark in marks])


def _remarks(series: dict[int, Thinned], unit: str) -> list[str]:
    nans = sum(found.nans for found in series.values())
    infinite = sum(found.infinite for found in series.values())
    first = min(series, default=0)
    restarts = [
        f"│ attempt {attempt} from {unit} {short(found.xs[0])}"
        for attempt, found in series.items()
        if attempt != first and found.xs
    ]
    return [
        *([f"{nans} nan"] if nans else []),
        *([f"{infinite} inf"] if infinite else []),
        *restarts,
    ]
