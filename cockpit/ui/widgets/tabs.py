"""The second line of every screen: which screens there are, and where the engine runs."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from cockpit.core.cluster import Cluster
from cockpit.core.text import visible
from cockpit.ui.actions import ACTIONS, Action
from cockpit.ui.letters import colour, letters

TABS: tuple[Action, ...] = tuple(action for action in ACTIONS if action.name == "go")


class Tabs(Widget):
    """`1 Cluster  2 Queue ...`, the current one in reverse and in brackets of its own."""

    DEFAULT_CSS = "Tabs { height: 1; background: $surface; color: $text-muted; }"

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = f"go('{current}')"
        self._job: tuple[str, str] | None = None
        """Letter and name of the job that is shown."""
        self._engine = ""

    def show(self, cluster: Cluster, chosen: int | None, engine: str) -> None:
        """Draw again if the job shown or the engine's place changed."""
        job = None
        if self._current == "go('job')" and chosen is not None and chosen in cluster.jobs:
            job = (letters(cluster.jobs)[chosen], visible(cluster.jobs[chosen].name, 40))
        if (job, engine) != (self._job, self._engine):
            self._job, self._engine = job, engine
            self.refresh()

    def render(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for tab in TABS:
            if tab.id == self._current:
                parts.append((f"▸{tab.key} {tab.label}", "bold reverse"))
                if self._job:
                    letter, name = self._job
                    parts += [(f" {letter}", f"bold ${colour(letter)}"), f" {name}"]
                parts.append(" ")
            else:
                parts.append(f" {tab.key} {tab.label} ")
        left = Content.assemble(*parts)
        room = self.size.width - left.cell_length - 1
        engine = visible(self._engine)
        if cell_len(engine) > room:
            return left
        return Content.assemble(left, " " * (room - cell_len(engine)), engine)
