"""A question with what it is about, answered by one key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.describe import Fact


def table(facts: Sequence[Fact]) -> Table:
    """Labels to the left, words to the right, wrapped in their own column; made safe here."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, max_width=24)
    grid.add_column(overflow="fold")
    for label, words in facts:
        grid.add_row(Text(visible(label), "dim"), Text(visible(words)))
    return grid


class Ask(ModalScreen[bool]):
    """Enter or `y` is yes, Esc or `n` is no; the default is to change nothing."""

    BINDINGS = bindings(Context.DIALOG)
    AUTO_FOCUS: ClassVar[str | None] = None
    DEFAULT_CSS = """
    Ask { align: center middle; background: $background 60%; }
    Ask > #box { width: 76; max-width: 96%; height: auto; max-height: 94%;
        border: round $primary; background: $surface; padding: 0 1; }
    Ask.danger > #box { border: round $error; }
    Ask #title { text-style: bold; padding-bottom: 1; }
    Ask #about { height: auto; max-height: 1fr; }
    Ask #facts { height: auto; }
    Ask #keys { color: $text-muted; padding-top: 1; height: 2; dock: bottom; }
    """

    def __init__(
        self,
        title: str,
        facts: Sequence[Fact],
        yes: str,
        no: str = "leave it",
        danger: bool = False,
    ) -> None:
        super().__init__(classes="danger" if danger else "")
        self._title, self._facts, self._yes, self._no = title, facts, yes, no

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(visible(self._title), id="title", markup=False)
            with VerticalScroll(id="about", can_focus=False):
                yield Static(table(self._facts), id="facts")
                yield from self.more()
            yield Static(self.keys(), id="keys", markup=False)

    def more(self) -> ComposeResult:
        """Widgets below the facts."""
        yield from ()

    def keys(self) -> str:
        return f"↵ {self._yes}   Esc {self._no}"

    def action_page_down(self) -> None:
        self.query_one("#about").scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.query_one("#about").scroll_page_up(animate=False)

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)
