"""The names of a screen's panels on one line, the one that is shown marked."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget


class PanelLine(Widget):
    """`▸Logs  Graphs  Ranks ...`; a click chooses, Tab is the screen's."""

    DEFAULT_CSS = "PanelLine { height: 1; background: $panel; color: $text-muted; }"
    current: reactive[int] = reactive(0)

    class Chosen(Message):
        """A click on the name of a panel."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = names

    def render(self) -> Content:
        parts = [
            (f"▸{name} ", "bold reverse") if place == self.current else (f" {name} ", "")
            for place, name in enumerate(self.names)
        ]
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        left = 0
        for place, name in enumerate(self.names):
            left += len(name) + 2
            if event.x < left:
                self.post_message(self.Chosen(place))
                return
