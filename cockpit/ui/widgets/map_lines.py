"""One line of the map, from the cells of its nodes; pure."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from cockpit.ui.standing import Standing
from cockpit.ui.widgets import map_cells
from cockpit.ui.widgets.map_cells import Head, Piece
from cockpit.ui.widgets.map_layout import Kind, Layout, Stretch, Zoom

WORDS = 12
"""Columns from which something is said of a node beside its units."""

LitPiece = tuple[Piece, bool]
"""A piece, and whether it is under the cursor."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the map shows of one node; equal means nothing to draw."""

    head: Head
    standings: tuple[Standing, ...]


def pieces(
    kind: Kind, stretch: Stretch, drawn: Drawn, layout: Layout, room: int, lit: int | None
) -> list[LitPiece]:
    """What a node shows on one line in `room` columns; `lit` is its unit under the cursor."""
    node_is_lit = lit is not None and not drawn.standings
    if kind is Kind.HEAD:
        return [(piece, node_is_lit) for piece in map_cells.head_line(drawn.head, room)]
    found: list[LitPiece] = []
    if kind is Kind.ROW:
        name = _name(drawn.head, layout.name, stretch.first > 0)
        found.append((name, node_is_lit))
    last = min(stretch.first + stretch.count, len(drawn.standings))
    for place in range(stretch.first, last):
        cells = _unit(kind, layout, drawn.standings[place])
        found += [(piece, place == lit and not piece.is_bar) for piece in cells]
        if kind is not Kind.ROW:
            found.append((Piece(" ", "dim"), False))
    if layout.zoom is Zoom.COMPACT and stretch.first == 0:
        left = min(room, layout.column) - layout.name - stretch.count * layout.cell - 2
        style = "dim" if drawn.head.is_up else "lost-words"
        if left >= WORDS:
            words = " " + map_cells.cut(drawn.head.words, left)
            found.append((Piece(words, style), False))
    return found


def _name(head: Head, width: int, is_repeated: bool) -> Piece:
    if is_repeated:
        return Piece(" " * width, "dim")
    name = map_cells.cut(head.name, width - 3)
    text = f" {name}{head.mark or ' '}"
    text += " " * (width - cell_len(text))
    return Piece(text, "head" if head.is_up else "lost")


def _unit(kind: Kind, layout: Layout, standing: Standing) -> list[Piece]:
    if kind is Kind.BARS:
        return map_cells.bar(standing, layout.cell - 1)
    if kind is Kind.FIGURES:
        return map_cells.figures(standing, layout.cell - 1)
    if layout.zoom is Zoom.DOTS:
        return map_cells.dots(standing, layout.cell)
    return map_cells.word(standing, layout.cell)
