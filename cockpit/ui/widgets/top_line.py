"""The top line of every screen: is everything alive, and is anything in trouble?"""

from __future__ import annotations

import time

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from cockpit.core.cluster import Cluster
from cockpit.core.text import visible
from cockpit.ui.tally import Tally, tally

GAP = "  "
WIDE = 100
"""Columns from which the program's own name is shown."""
ALERT = 28
"""Columns that an alert always has."""


def line(cluster: str, found: Tally, clock: str, width: int) -> Content:
    """Name and figures to the left, alert and clock to the right; both give way, neither all."""
    name = f" cockpit · {cluster} " if width >= WIDE else f" {cluster} "
    words = _figures(found)
    total = width - cell_len(name) - cell_len(clock) - 2 * len(GAP) - 1
    right = _alert(found, max(ALERT, total - cell_len(GAP.join(words)) - len(GAP)))
    room = total - cell_len(right)
    figures = ""
    for word in words:
        if cell_len(figures) + len(GAP) + cell_len(word) > room:
            break
        figures += GAP + word
    return Content.assemble(
        (name, "bold $primary"),
        set_cell_size(figures, max(0, room) + len(GAP)),
        (right, "bold $error"),
        GAP,
        (clock, "$text-muted"),
    )


def _figures(found: Tally) -> list[str]:
    nodes = f"{found.nodes} node{'' if found.nodes == 1 else 's'}"
    if found.up < found.nodes:
        nodes = f"{found.up}/{found.nodes} nodes"
    return [nodes, *(word for count in found.counts for word in count.words)]


def _alert(found: Tally, room: int) -> str:
    if not found.alerts:
        return ""
    more = f" +{len(found.alerts) - 1} more" if len(found.alerts) > 1 else ""
    text = f"▲ {found.alerts[0]}"
    space = room - len(more)
    return (text if cell_len(text) <= space else set_cell_size(text, space - 1) + "…") + more


class TopLine(Widget):
    """Cluster, nodes, units by kind, the first alert and the clock."""

    DEFAULT_CSS = "TopLine { height: 1; background: $panel; color: $foreground; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Cluster | None, str, str] = (None, "", "")
        self._line: tuple[str, Tally, str] = ("", Tally(0, 0, (), ()), "")

    def show(self, cluster: Cluster, alert: str) -> None:
        """Draw again if a figure or the minute changed."""
        shown = (cluster, alert, time.strftime("%H:%M"))
        if shown == self._shown:
            return
        self._shown = shown
        line = (visible(cluster.name), tally(cluster, alert), shown[2])
        if line != self._line:
            self._line = line
            self.refresh()

    def render(self) -> Content:
        return line(*self._line, self.size.width)
