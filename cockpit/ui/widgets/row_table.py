"""A table that is moved through by the keys of all lists."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widgets import DataTable

from cockpit.ui.actions import Context, bindings


class RowTable(DataTable[Text]):
    """One cursor, a row high; cells are Text, never markup."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.LIST)
    DEFAULT_CSS = """
    RowTable { height: 1fr; background: $background; overflow-x: hidden; }
    RowTable:focus { background-tint: $foreground 0%; }
    """

    def __init__(self) -> None:
        super().__init__(cursor_type="row")

    def action_half_down(self) -> None:
        self.move_cursor(row=self.cursor_row + self.size.height // 2)

    def action_half_up(self) -> None:
        self.move_cursor(row=self.cursor_row - self.size.height // 2)

    def action_scroll_top(self) -> None:
        self.move_cursor(row=0)

    def action_scroll_bottom(self) -> None:
        self.move_cursor(row=self.row_count - 1)
