"""The checkpoints of a job: which are complete, and why the others are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Label, Static

from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.model import Found, Model, Unavailable
from cockpit.ui.widgets.row_table import RowTable

COLUMNS: Mapping[str, int] = {
    "STEP": 9,
    "STATE": 10,
    "SIZE": 9,
    "RANKS": 5,
    "SAVED": 11,
    "PATH": 16,
}
"""Heading -> cells at least; state and path share what is left."""


def widths(cells: int, found: Sequence[Found]) -> Mapping[str, int]:
    """Of each column on a table of so many cells, which has two cells of padding a column."""
    spare = max(0, cells - sum(COLUMNS.values()) - 2 * len(COLUMNS))
    state = max((cell_len(_state(one)) for one in found), default=0) - COLUMNS["STATE"]
    path = max((cell_len(visible(one.path, 300)) for one in found), default=0) - COLUMNS["PATH"]
    more = max(0, min(state, max(spare * 2 // 3, spare - max(0, path))))
    return {**COLUMNS, "STATE": COLUMNS["STATE"] + more, "PATH": COLUMNS["PATH"] + spare - more}


def _state(found: Found) -> str:
    return "complete" if found.complete else f"✗ {visible(found.reason, 200)}"


def cells(found: Found, room: Mapping[str, int]) -> list[Text]:
    """One row: text, never markup."""
    return [
        Text(f"{found.step:,}", justify="right"),
        Text(wording.cut(_state(found), room["STATE"])),
        Text(wording.size(found.bytes), justify="right"),
        Text("?" if found.world_size is None else str(found.world_size), justify="right"),
        Text("?" if found.time is None else wording.day(found.time)[5:16]),
        Text(wording.path(visible(found.path, 300), room["PATH"])),
    ]


class CheckpointPanel(Vertical):
    """Looks when it is shown and when a newer checkpoint became complete."""

    DEFAULT_CSS = """
    CheckpointPanel > Label { width: 1fr; padding: 0 1; color: $text-muted; }
    CheckpointPanel > #whole { height: auto; max-height: 4; padding: 0 1; }
    """

    class Chosen(Message):
        """Enter on a checkpoint."""

        def __init__(self, found: Found) -> None:
            super().__init__()
            self.found = found

    def __init__(self) -> None:
        super().__init__()
        self._found: Sequence[Found] = ()

    def compose(self) -> ComposeResult:
        yield Label(markup=False)
        yield RowTable()
        yield Static(id="whole", markup=False)

    def on_resize(self) -> None:
        self._fill(self._under)

    def look(self, model: Model, job: int) -> None:
        """Ask the node of rank 0; an answer that is still awaited is dropped."""
        if not self._found:
            self._say("looking on the node of rank 0 …")
        self.run_worker(self._look(model, job), exclusive=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if 0 <= event.cursor_row < len(self._found):
            self.post_message(self.Chosen(self._found[event.cursor_row]))

    def on_data_table_row_highlighted(self) -> None:
        """The whole path, and why it is not complete, for which no row has room."""
        found = self._under
        words = "" if found is None else visible(found.path)
        if found is not None and not found.complete:
            words += f"\n✗ {visible(found.reason)}"
        self.query_one("#whole", Static).update(words)

    async def _look(self, model: Model, job: int) -> None:
        try:
            found = await model.checkpoints(job)
        except Unavailable as error:
            self._say(visible(str(error)))
            return
        if list(found) != list(self._found):
            under, self._found = self._under, list(found)
            self._fill(under)
        complete = sum(one.complete for one in found)
        if found:
            self._say(f"{complete} of {len(found)} complete; ↵ restarts from the chosen one")
        else:
            self._say("no checkpoints yet; a script writes them with cockpit_trainer's run.save()")

    @property
    def _under(self) -> Found | None:
        """What the cursor is on."""
        row = self.query_one(RowTable).cursor_row
        return self._found[row] if 0 <= row < len(self._found) else None

    def _fill(self, under: Found | None) -> None:
        """All rows anew for this width, the cursor on the same path."""
        table = self.query_one(RowTable)
        room = widths(self.size.width - 1, self._found)
        table.clear(columns=True)
        for label, width in room.items():
            table.add_column(label, key=label, width=width)
        for found in self._found:
            table.add_row(*cells(found, room))
        paths = [found.path for found in self._found]
        table.move_cursor(row=paths.index(under.path) if under and under.path in paths else 0)

    def _say(self, words: str) -> None:
        self.query_one(Label).update(Content(words))
