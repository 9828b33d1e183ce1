"""Screen 4: what happened, newest last."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import DataTable

from cockpit.core.cluster import Cluster
from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.actions import Context
from cockpit.ui.model import Happening, Model
from cockpit.ui.screens.frame import Framed
from cockpit.ui.widgets.row_table import RowTable

TIME_CELLS, JOB_CELLS, LEAST_CELLS = 8, 5, 20
"""Widths of the columns; the words get what is left."""


class History(RowTable):
    """One row a happening, as high as its words need; follows the end while the cursor is there."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Happening] = []
        self._history: list[Happening] = []
        """What is to be shown, once there is room for columns."""

    def on_resize(self) -> None:
        """The words wrap in what the other columns leave."""
        row = self.cursor_row
        self.clear(columns=True)
        self.add_column("TIME", key="time", width=TIME_CELLS)
        self.add_column("JOB", key="job", width=JOB_CELLS)
        words = self.size.width - TIME_CELLS - JOB_CELLS - 2 * 3 - 1
        self.add_column("WHAT HAPPENED", key="what", width=max(LEAST_CELLS, words))
        at_end, self.shown = row >= len(self.shown) - 1, []
        self.show(self._history)
        if not at_end:
            self.move_cursor(row=row)

    def show(self, history: list[Happening]) -> None:
        """Add what is new; start anew only where the past changed."""
        self._history = history
        if history == self.shown or not self.columns:
            return
        at_end = self.cursor_row >= self.row_count - 1
        if history[: len(self.shown)] != self.shown:
            self.clear()
            self.shown = []
        for one in history[len(self.shown) :]:
            job = "" if one.job is None else str(one.job)
            words = Text(visible(one.text), overflow="fold")
            self.add_row(Text(wording.clock(one.time)), Text(job), words, height=None)
        self.shown = history
        if at_end:
            self.move_cursor(row=self.row_count - 1)


class EventsScreen(Framed):
    """The history of all jobs and nodes."""

    TAB = "events"
    CONTEXTS = (Context.LIST, Context.JOBS, Context.EVERYWHERE)

    def body(self) -> ComposeResult:
        yield History()

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._second: int | None = None
        """When the history was looked up, which reads the store."""

    def show(self, cluster: Cluster) -> None:
        if self._second != int(cluster.now.mono):
            self._second = int(cluster.now.mono)
            self.query_one(History).show(list(self.model.happenings()))

    @property
    def chosen_job(self) -> int | None:
        history = self.query_one(History)
        if not 0 <= history.cursor_row < len(history.shown):
            return None
        job = history.shown[history.cursor_row].job
        return job if job is not None and job in self.model.cluster.jobs else None

    @on(DataTable.RowSelected)
    def _open(self) -> None:
        if (job := self.chosen_job) is not None:
            self.post_message(self.Opened(job))
