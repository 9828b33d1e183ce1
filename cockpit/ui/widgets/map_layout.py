"""Where each node and unit stands on the map, for a width and a zoom; pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

NAME_WIDTH = 18
"""Columns that a node's name may take at most where units stand beside it."""
GAP = 1
"""Columns between nodes that stand side by side."""
FULL_CELL = 14
"""Columns of a unit at full zoom, at least."""


class Zoom(StrEnum):
    """How much is told of a unit."""

    FULL = "full"
    """Two lines a unit."""
    COMPACT = "compact"
    """One word a unit, one line a node."""
    DOTS = "dots"
    """Two characters a unit, several nodes a line."""


class Kind(Enum):
    """What a line of the map shows of its nodes."""

    HEAD = "head"
    BARS = "bars"
    FIGURES = "figures"
    ROW = "row"
    """Name and units on one line."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """All that the layout needs to know of a node."""

    name: str
    units: int
    has_gpus: bool
    name_width: int
    """Columns of its name."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the cursor can stand: a unit, or a node that has none (`unit` 0)."""

    node: str
    unit: int
    """Place in the node's units."""
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some units of one node on one line."""

    node: str
    first: int
    count: int
    x: int


@dataclass(frozen=True, slots=True)
class Line:
    kind: Kind
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Every line, and every place for the cursor by row."""

    zoom: Zoom
    lines: tuple[Line, ...]
    rows: tuple[tuple[Spot, ...], ...]
    cell: int
    """Columns of a unit."""
    name: int
    """Columns of a node's name where units stand beside it."""
    column: int
    """Columns of a node with its units and the gap after it."""


def best(nodes: Sequence[NodeShape], width: int, height: int) -> Zoom:
    """The zoom that tells most without scrolling; dots where nothing fits."""
    for zoom in (Zoom.FULL, Zoom.COMPACT):
        if len(layout(nodes, width, height, zoom).lines) <= height:
            return zoom
    return Zoom.DOTS


def layout(nodes: Sequence[NodeShape], width: int, height: int, zoom: Zoom) -> Layout:
    """Lines from top to bottom in the order of the nodes; several nodes a line if that is needed."""
    most = max((node.units for node in nodes), default=0)
    name = min(NAME_WIDTH, max((node.name_width for node in nodes), default=0) + 3)
    match zoom:
        case Zoom.FULL:
            return _full(nodes, width, _even(most, (width - 2) // FULL_CELL))
        case Zoom.COMPACT:
            cell = 9 if name + 9 * most < width else 8
            return _rows(nodes, zoom, name, cell, width, height)
        case Zoom.DOTS:
            roomy = _rows(nodes, zoom, name, 2, width, height)
            tight = _rows(nodes, zoom, name, 1, width, height)
            return roomy if len(roomy.lines) <= height else tight


def _even(count: int, fit: int) -> int:
    """How many of `count` things on a line where `fit` have room, so that lines are equally long."""
    fit = max(1, fit)
    lines = max(1, -(-count // fit))
    return max(1, -(-count // lines))


def _full(nodes: Sequence[NodeShape], width: int, per_line: int) -> Layout:
    cell = min(20, (width - 2) // per_line)
    lines: list[Line] = []
    rows: list[tuple[Spot, ...]] = []
    for node in nodes:
        lines.append(Line(Kind.HEAD, (Stretch(node.name, 0, 0, 0),)))
        if not node.units:
            rows.append((Spot(node.name, 0, 0, len(lines) - 1, width, 1),))
        for first in range(0, node.units, per_line):
            count = min(per_line, node.units - first)
            stretch = (Stretch(node.name, first, count, 2),)
            height = 2 if node.has_gpus else 1
            rows.append(
                tuple(
                    Spot(node.name, first + n, 2 + n * cell, len(lines), cell - 1, height)
                    for n in range(count)
                )
            )
            lines.append(Line(Kind.BARS, stretch))
            if node.has_gpus:
                lines.append(Line(Kind.FIGURES, stretch))
    return Layout(Zoom.FULL, tuple(lines), tuple(rows), cell, 0, width)


def _rows(
    nodes: Sequence[NodeShape], zoom: Zoom, name: int, cell: int, width: int, height: int
) -> Layout:
    most = max((node.units for node in nodes), default=0)
    per_line = _even(most, (width - name - GAP) // cell)
    column = name + per_line * cell + GAP
    fits = zoom is Zoom.COMPACT and len(nodes) * -(-most // per_line) <= height
    abreast = 1 if fits else max(1, (width + GAP) // column)
    column = width if abreast == 1 else column
    lines: list[Line] = []
    rows: list[tuple[Spot, ...]] = []
    for start in range(0, len(nodes), abreast):
        group = nodes[start : start + abreast]
        for row in range(max(1, *(-(-node.units // per_line) for node in group))):
            stretches: list[Stretch] = []
            spots: list[Spot] = []
            for place, node in enumerate(group):
                x, first = place * column, row * per_line
                count = max(0, min(per_line, node.units - first))
                if row == 0 or count:
                    stretches.append(Stretch(node.name, first, count, x))
                if row == 0 and not node.units:
                    spots.append(Spot(node.name, 0, x, len(lines), name, 1))
                spots += [
                    Spot(node.name, first + n, x + name + n * cell, len(lines), cell, 1)
                    for n in range(count)
                ]
            lines.append(Line(Kind.ROW, tuple(stretches)))
            if spots:
                rows.append(tuple(spots))
    return Layout(zoom, tuple(lines), tuple(rows), cell, name, column)
