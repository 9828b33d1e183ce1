"""Labelled facts as a table: labels to the left, words to the right, paths broken at their slashes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from cockpit.core.text import visible
from cockpit.ui.describe import Fact
from cockpit.ui.wrapping import wrapped


class Words:
    """Lines that wrap themselves in whatever room they are given."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = (row for line in self._lines for row in wrapped(line, options.max_width))
        yield Text("\n".join(rows))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, 1, *map(cell_len, self._lines)))


def table(facts: Sequence[Fact]) -> Table:
    """Made safe here."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, max_width=24)
    grid.add_column()
    for label, words in facts:
        grid.add_row(Text(visible(label), "dim"), Words([visible(words)]))
    return grid
