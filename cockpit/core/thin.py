"""Reduces a series to what a plot can show: the smallest and the largest value of each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

BEYOND = 1e300
"""Values of at least this size are counted as infinite, so that differences stay finite."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """What is left of one series, in the order of x."""

    xs: tuple[float, ...] = ()
    ys: tuple[float, ...] = ()
    nans: int = 0
    """Values that were not a number."""
    infinite: int = 0
    """Values that were infinite, or as good as."""
    last: float | None = None
    """The newest value, whatever it is."""


def thin(xs: Sequence[float], ys: Sequence[float], columns: int) -> Thinned:
    """At most two points a column; spikes stay, and what cannot be drawn is counted.

    Points may come in any order of x, as after a clock was set back.
    """
    drawn = [(x, y) for x, y in zip(xs, ys, strict=True) if abs(y) < BEYOND and abs(x) < BEYOND]
    nans = sum(map(math.isnan, ys))
    kept = _extremes(drawn, columns) if len(drawn) > 2 * columns else sorted(drawn, key=_x)
    return Thinned(
        tuple(x for x, _ in kept),
        tuple(y for _, y in kept),
        nans,
        sum(abs(y) >= BEYOND for y in ys),
        ys[-1] if ys else None,
    )


def scaled(values: Sequence[float], low: float, high: float) -> list[float]:
    """Where values stand between two limits, 0 to 1; in the middle if the limits are one."""
    span = high - low
    return [(value - low) / span if span > 0 else 0.5 for value in values]


def ticks(low: float, high: float, count: int) -> list[float]:
    """At most `count` round numbers within the limits; the limits themselves where none fits."""
    if not high > low or count < 2:
        return [low]
    raw = (high - low) / count
    if raw < 1e-290 or raw < 1e-12 * max(abs(low), abs(high)):
        return [low, high]
    magnitude = 10.0 ** math.floor(math.log10(raw))
    for step in (magnitude, 2 * magnitude, 5 * magnitude, 10 * magnitude):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < count:
            break
    found = [n * step for n in range(first, last + 1)]
    return found if len(found) > 1 else [low, high]


def _extremes(points: Sequence[tuple[float, float]], columns: int) -> list[tuple[float, float]]:
    low, high = min(points)[0], max(points)[0]
    per_unit = columns / (high - low) if high > low else 0.0
    if not math.isfinite(per_unit):
        per_unit = 0.0
    least: dict[int, tuple[float, float]] = {}
    most: dict[int, tuple[float, float]] = {}
    for point in points:
        column = min(int((point[0] - low) * per_unit), columns - 1)
        if column not in least or point[1] < least[column][1]:
            least[column] = point
        if column not in most or point[1] > most[column][1]:
            most[column] = point
    return sorted({*least.values(), *most.values()}, key=_x)


def _x(point: tuple[float, float]) -> float:
    return point[0]
