"""A table of rows that moves by the keys of the registry."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import DataTable

from cockpit.ui.actions import Context, bindings


class RowTable(DataTable[Text]):
    """Cells are Text, never markup."""

    BINDINGS = bindings(Context.LIST)
    DEFAULT_CSS = "RowTable { height: 1fr; background: $background; }"

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
