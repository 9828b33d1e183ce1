"""Labelled facts as a table: labels to the left, words to the right, paths broken at their slashes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from cockpit.core.text import visible
from cockpit.ui.describe import Fact

_PIECE = re.compile(r"\s+|[^\s/]*/+|[^\s/]+")
"""What is never broken where it fits on a line: a space, a directory with its slash, a word."""


def wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most `cells` cells, broken at spaces, else at slashes, else anywhere."""
    lines = [""]
    for word in re.findall(r"\s+|\S+", text):
        fits = cell_len(lines[-1]) + cell_len(word) <= cells
        if not fits and cell_len(word) <= cells:
            lines.append("" if word.isspace() else word)
            continue
        for piece in [word] if fits else _pieces(word, cells):
            if cell_len(lines[-1]) + cell_len(piece) > cells:
                lines.append("")
            lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(word: str, cells: int) -> Iterator[str]:
    for piece in _PIECE.findall(word):
        yield from chop_cells(piece, max(1, cells)) if cell_len(piece) > cells else [piece]


class _Words:
    """A text that wraps itself in whatever room the table gives it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(wrapped(self._text, options.max_width)))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self._text)))


def table(facts: Sequence[Fact]) -> Table:
    """Made safe here."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, max_width=24)
    grid.add_column()
    for label, words in facts:
        grid.add_row(Text(visible(label), "dim"), _Words(visible(words)))
    return grid
