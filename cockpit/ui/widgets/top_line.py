"""The top line of every screen: is everything alive, and is anything in trouble?"""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from cockpit.core.cluster import Cluster
from cockpit.core.figures import counted
from cockpit.core.text import visible
from cockpit.ui.tally import Tally, tally
from cockpit.ui.wording import cut
from cockpit.ui.wrapping import wrapped

GAP = "  "
WIDE = 100
"""Columns from which the program's own name is shown."""
ALERT = 28
"""Columns that an alert has at least, whatever the figures want."""
ALERT_LINES = 3
"""Lines that an alert of its own has at most."""


def line(cluster: str, found: Tally, clock: str, width: int) -> Content:
    """Name and figures to the left, the clock and an alert that fits to the right; else below."""
    name = f" cockpit · {cluster} " if width >= WIDE else f" {cluster} "
    words = _figures(found)
    total = max(0, width - cell_len(name) - cell_len(clock) - 2 * len(GAP) - 1)
    alert = _alert(found)
    fits = cell_len(alert) <= min(total, max(ALERT, total - cell_len(GAP.join(words)) - len(GAP)))
    right = alert if fits else ""
    top = _top(name, words, right, clock, total)
    if fits:
        return top
    rows = wrapped(alert, max(1, width - 2))
    if len(rows) > ALERT_LINES:
        rows = [*rows[: ALERT_LINES - 1], cut(f"{rows[ALERT_LINES - 1]} …", max(1, width - 2))]
    return Content("\n").join([top, *(Content.styled(f" {row}", "bold $error") for row in rows)])


def _top(name: str, words: Sequence[str], right: str, clock: str, total: int) -> Content:
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
    nodes = counted(found.nodes, "node")
    nodes = nodes if found.up == found.nodes else f"{found.up}/{nodes}"
    return [nodes, *(word for count in found.counts for word in count.words)]


def _alert(found: Tally) -> str:
    more = f"  +{len(found.alerts) - 1} more" if len(found.alerts) > 1 else ""
    return f"▲ {found.alerts[0]}{more}" if found.alerts else ""


class TopLine(Widget):
    """Cluster, nodes, units by kind, the clock, and the first alert, for which it grows."""

    DEFAULT_CSS = "TopLine { height: auto; background: $panel; color: $foreground; }"

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
        found = (visible(cluster.name), tally(cluster, alert), shown[2])
        if found != self._line:
            before, self._line = self._height, found
            self.refresh(layout=self._height != before)

    @property
    def _height(self) -> int:
        return line(*self._line, self.size.width).plain.count("\n") + 1

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return line(*self._line, width).plain.count("\n") + 1

    def render(self) -> Content:
        return line(*self._line, self.size.width)
