"""The checkpoints of a job: which are complete, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Label

from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.model import Found, Model, Unavailable
from cockpit.ui.widgets.row_table import RowTable

COLUMNS = ("STEP", "STATE", "SIZE", "RANKS", "SAVED", "PATH")


def cells(found: Found) -> list[Text]:
    """One row: text, never markup."""
    state = "complete" if found.complete else f"✗ {visible(found.reason, 200)}"
    return [
        Text(f"{found.step:,}", justify="right"),
        Text(state),
        Text(wording.size(found.bytes), justify="right"),
        Text("?" if found.world_size is None else str(found.world_size), justify="right"),
        Text("?" if found.time is None else wording.day(found.time)[5:16]),
        Text(visible(found.path, 300)),
    ]


class CheckpointPanel(Vertical):
    """Looks when it is shown and when a newer checkpoint became complete."""

    DEFAULT_CSS = """
    CheckpointPanel > Label { width: 1fr; padding: 0 1; color: $text-muted; }
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

    def on_mount(self) -> None:
        table = self.query_one(RowTable)
        for label in COLUMNS:
            table.add_column(label, key=label)

    def look(self, model: Model, job: int) -> None:
        """Ask the node of rank 0; an answer that is still awaited is dropped."""
        if not self._found:
            self._say("looking on the node of rank 0 …")
        self.run_worker(self._look(model, job), exclusive=True)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if 0 <= event.cursor_row < len(self._found):
            self.post_message(self.Chosen(self._found[event.cursor_row]))

    async def _look(self, model: Model, job: int) -> None:
        try:
            found = await model.checkpoints(job)
        except Unavailable as error:
            self._say(visible(str(error)))
            return
        if list(found) != list(self._found):
            row = self.query_one(RowTable).cursor_row
            under = self._found[row].path if row < len(self._found) else None
            self._found = list(found)
            self._fill(under)
        complete = sum(one.complete for one in found)
        if found:
            self._say(f"{complete} of {len(found)} complete; ↵ restarts from the chosen one")
        else:
            self._say("no checkpoints yet; a script writes them with cockpit_trainer's run.save()")

    def _fill(self, under: str | None) -> None:
        """All rows anew, the cursor on the same path."""
        table = self.query_one(RowTable)
        paths = [found.path for found in self._found]
        table.clear()
        for found in self._found:
            table.add_row(*cells(found))
        table.move_cursor(row=paths.index(under) if under in paths else 0)

    def _say(self, words: str) -> None:
        self.query_one(Label).update(Content(words))
