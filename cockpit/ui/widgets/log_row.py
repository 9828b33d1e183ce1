"""One line of a log as segments: who printed it, on which stream, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from cockpit.core.log_text import metric, shown
from cockpit.core.text import visible
from cockpit.engine.spool import Line
from cockpit.ui.letters import COLOURS

Styles = Callable[[str], Style]
"""Name of a component class of the log view -> its style."""
SIGN_CELLS = 3
"""Cells between the name and the text."""


def name(rank: int | None, node: str) -> str:
    """Who printed it, `rank@node`; the launcher has no rank."""
    return f"{'run' if rank is None else rank}@{visible(node.expandtabs(1), 40)}"


def prefix(line: Line, cells: int, style: Styles) -> list[Segment]:
    """The name in its rank's colour, and a sign that tells stderr without any colour."""
    who = set_cell_size(name(line.rank, line.node).rjust(cells), cells)
    colour = "log--dim" if line.rank is None else f"log--rank-{line.rank % COLOURS + 1}"
    sign, kind = ("!", "log--error") if line.is_error else ("│", "log--dim")
    return [Segment(who, style(colour)), Segment(f" {sign} ", style(kind))]


def body(
    line: Line, cells: int, left: int, searched: re.Pattern[str] | None, style: Styles
) -> list[Segment]:
    """The text from its cell `left` on, with what is searched for marked, cut with a sign."""
    text, plain = _text(line)
    strip = Strip(_marked(text, searched, style(plain), style("log--match")))
    shift = min(left, max(0, strip.cell_length - cells))
    if strip.cell_length <= shift + cells:
        return list(strip.crop(shift, shift + cells))
    return [*strip.crop(shift, shift + cells - 1), Segment("▸", style("log--dim"))]


def _text(line: Line) -> tuple[str, str]:
    """What it says and the name of its style."""
    if line.is_mark:
        return f"── {shown(line.data)} ──", "log--dim"
    words = metric(line.data)
    if words is not None:
        return words, "log--metric"
    return shown(line.data, line.hidden), "log--text" if line.is_whole else "log--dim"


def _marked(
    text: str, searched: re.Pattern[str] | None, plain: Style, mark: Style
) -> list[Segment]:
    if searched is None:
        return [Segment(text, plain)]
    parts = searched.split(text)
    return [Segment(part, mark if n % 2 else plain) for n, part in enumerate(parts)]
