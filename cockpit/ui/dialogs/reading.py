"""A text in a box over the screen: the help, and all that is known of something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings, of

NOTES: Mapping[Context, str] = {
    Context.QUEUE: "Jobs that live stand first, by number; then those that ended, the newest first."
}
"""What a person should know before the keys of a context."""


class Reading(ModalScreen[None]):
    """Scrolls by the usual keys; Esc closes it."""

    BINDINGS = bindings(Context.READING)
    AUTO_FOCUS: ClassVar[str | None] = None
    DEFAULT_CSS = """
    Reading { align: center middle; background: $background 60%; }
    Reading > #box { width: 92; max-width: 96%; height: auto; max-height: 94%;
        border: round $primary; background: $surface; padding: 0 1; }
    Reading #title { text-style: bold; }
    Reading VerticalScroll { height: auto; max-height: 1fr; margin-top: 1; }
    Reading #keys { color: $text-muted; padding-top: 1; height: 2; dock: bottom; }
    """

    def __init__(self, title: str, text: Content | Table) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(visible(self._title), id="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(self._text, id="text")
            yield Static("Esc close   ↓ ↑ ^d ^u move", id="keys", markup=False)

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll_down(self) -> None:
        self.query_one(VerticalScroll).scroll_down(animate=False)

    def action_scroll_up(self) -> None:
        self.query_one(VerticalScroll).scroll_up(animate=False)

    def action_page_down(self) -> None:
        self.query_one(VerticalScroll).scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.query_one(VerticalScroll).scroll_page_up(animate=False)


def help_text(contexts: Sequence[Context]) -> Content:
    """Every key of some contexts under their headings, from the registry."""
    lines: list[Content] = []
    for context in contexts:
        lines.append(Content.styled(context.value, "bold $primary"))
        if context in NOTES:
            lines.append(Content.styled(f"  {NOTES[context]}", "$text-muted"))
        for action in of([context]):
            keys = (f"  {action.all_keys:<16}", "bold $accent")
            lines.append(Content.assemble(keys, action.help))
        lines.append(Content(""))
    return Content("\n").join(lines[:-1])
