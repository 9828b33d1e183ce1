"""Metrics of jobs out of the store, read once and thinned where they grow long."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cockpit.engine.store import Store
from cockpit.ui.model import Point

LONGEST = 16384
"""Points of one curve that are kept before it is thinned to half; a plot draws far fewer."""


@dataclass(slots=True)
class _Job:
    mark: int = 0
    """How far the store was read."""
    points: dict[str, list[Point]] = field(default_factory=dict)


class Curves:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: dict[int, _Job] = {}

    def of(self, job: int) -> Mapping[str, Sequence[Point]]:
        """By name; reads only what came since the last call."""
        kept = self._jobs.setdefault(job, _Job())
        try:
            rows, kept.mark = self._store.metrics(job, kept.mark)
        except sqlite3.Error:
            return kept.points  # The engine says what is wrong with the store.
        for row in rows:
            curve = kept.points.setdefault(row.name, [])
            curve.append(Point(row.attempt, row.step, row.time, row.value))
            if len(curve) >= LONGEST:
                kept.points[row.name] = _halved(curve)
        return kept.points


def _halved(curve: Sequence[Point]) -> list[Point]:
    """Of every four points the lowest and the highest, in their order: spikes stay."""
    thin: list[Point] = []
    for at in range(0, len(curve), 4):
        four = curve[at : at + 4]
        low = min(four, key=lambda point: point.value)
        high = max(four, key=lambda point: point.value)
        thin += sorted({low, high}, key=four.index)
    return thin
