"""Thinned curves against raw plotext: `python -m tests.benchmarks.bench_graphs`."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable

from plotext._figure import _figure_class as Figure

from cockpit.ui.model import Point
from cockpit.ui.widgets.curves import draw

POINTS = 10_000
SIZE = (120, 30)
ROUNDS = 7


def series(count: int = POINTS) -> list[Point]:
    return [Point(1, n, 1.7e9 + n, 2 + 8 / (1 + n / 900) + 0.1 * math.sin(n)) for n in range(count)]


def raw(points: list[Point]) -> None:
    figure = Figure()
    figure.theme("clear")
    figure.plotsize(*SIZE)
    figure.plot(
        [point.step for point in points], [point.value for point in points], marker="braille"
    )
    figure.build()


def milliseconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def main() -> None:
    points = series()
    thinned = milliseconds(lambda: draw(points, *SIZE))
    plain = milliseconds(lambda: raw(points))
    sys.stdout.write(
        f"{POINTS} points at {SIZE[0]}x{SIZE[1]}: raw plotext {plain:.1f} ms, "
        f"thinned {thinned:.1f} ms, x{plain / thinned:.1f} faster\n"
    )


if __name__ == "__main__":
    main()
