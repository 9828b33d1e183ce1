"""The jobs of a snapshot, one row each; rows are kept by job and changed cell by cell."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields

from rich.style import Style
from rich.text import Text
from textual import events
from textual.color import Color, ColorParseError
from textual.message import Message
from textual.timer import Timer

from cockpit.core.cluster import Cluster
from cockpit.core.jobs import Job, JobState
from cockpit.ui.job_row import JobRow, job_row, matches
from cockpit.ui.letters import colour, letters
from cockpit.ui.widgets.row_table import RowTable

LABELS = {
    "letter": " ",
    "id": "ID",
    "name": "NAME",
    "state": "ST",
    "time": "TIME",
    "shape": "NODES",
    "progress": "PROGRESS",
    "place": "NODELIST(REASON)",
}
WIDE = 110
"""Columns of the screen from which progress has a column of its own."""
CALM_S = 0.5
"""Time and progress are drawn anew at most this often."""
STATE_COLOURS: Mapping[JobState, str] = {
    JobState.RUNNING: "success",
    JobState.CONFIGURING: "primary",
    JobState.COMPLETING: "warning",
    JobState.FAILED: "error",
    JobState.NODE_FAIL: "error",
}


def _is_calm(old: JobRow, new: JobRow) -> bool:
    """At most time and progress are different."""
    return old is new or (old.state, old.place, old.letter) == (new.state, new.place, new.letter)


def order(job: Job) -> tuple[bool, float]:
    """Living jobs by age, then finished ones, the last that ended first."""
    return job.state.is_over, -(job.ended or 0.0) if job.state.is_over else job.id


class JobTable(RowTable):
    """A table whose cursor stays on its job, whatever comes and goes around it."""

    class Changed(Message):
        """Rows came or went."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = ""
        """Words that a job must have to be shown."""
        self._rows_shown: dict[int, JobRow] = {}
        self._drawn_at = 0.0
        """Monotonic seconds of the last change."""
        self._later: Timer | None = None
        self._made: dict[int, tuple[Job, JobRow]] = {}
        self._order: list[int] = []
        self._columns: tuple[str, ...] = ()
        self._cluster = Cluster()

    @property
    def chosen(self) -> int | None:
        """The job under the cursor."""
        return self._order[self.cursor_row] if 0 <= self.cursor_row < len(self._order) else None

    def choose(self, job: int) -> None:
        if job in self._order:
            self.move_cursor(row=self._order.index(job))

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._start_anew())

    def on_resize(self, event: events.Resize) -> None:
        self._start_anew()

    def show(self, cluster: Cluster) -> None:
        """Bring the rows to the snapshot: what left, what came, what changed."""
        self._cluster = cluster
        if not self._columns:
            return
        named, chosen = letters(cluster.jobs), self.chosen
        rows = {
            job.id: row
            for job in sorted(cluster.jobs.values(), key=order)
            if matches(row := self._row(cluster, job, named[job.id]), self.wanted)
        }
        if self._can_wait(rows):
            return
        for gone in [job for job in self._rows_shown if job not in rows]:
            self.remove_row(str(gone))
        for job, row in rows.items():
            self._put(job, row, cluster.jobs[job])
        self._sort(list(rows), chosen)
        came_or_went = rows.keys() != self._rows_shown.keys()
        self._rows_shown = rows
        if came_or_went:
            self.post_message(self.Changed())

    def _can_wait(self, rows: Mapping[int, JobRow]) -> bool:
        """Only clocks and steps went on, and were drawn a moment ago: draw them a little later.

        A changed cell costs DataTable all of its visible rows.
        """
        olds, now = self._rows_shown, time.monotonic()
        if rows.keys() == olds.keys() and all(_is_calm(olds[job], rows[job]) for job in rows):
            wait = self._drawn_at + CALM_S - now
            if wait > 0:
                self._later = self._later or self.set_timer(wait, self._catch_up)
                return True
        self._drawn_at = now
        return False

    def _catch_up(self) -> None:
        self._later = None
        self.show(self._cluster)

    def _row(self, cluster: Cluster, job: Job, letter: str) -> JobRow:
        """The row of a finished job is made once: nothing in it tells the time."""
        source, row = self._made.get(job.id, (None, None))
        if row is None or source is not job or row.letter != letter or not job.state.is_over:
            row = job_row(cluster, job, letter)
            self._made[job.id] = job, row
        return row

    def _put(self, job: int, row: JobRow, source: Job) -> None:
        old = self._rows_shown.get(job)
        if old is None:
            cells = [self._cell(row, column, source) for column in self._columns]
            self.add_row(*cells, key=str(job))
            self._order.append(job)
        elif row != old:
            for column in self._columns:
                if getattr(row, column) != getattr(old, column):
                    self.update_cell(str(job), column, self._cell(row, column, source))

    def _sort(self, wanted: list[int], chosen: int | None) -> None:
        there = set(wanted)
        self._order = [job for job in self._order if job in there]
        if self._order != wanted:
            places = {str(job): place for place, job in enumerate(wanted)}
            self.sort("id", key=lambda cell: places[cell.plain])
            self._order = wanted
        if chosen is not None and chosen != self.chosen:
            self.choose(chosen)

    def _cell(self, row: JobRow, column: str, job: Job) -> Text:
        style = Style()
        if column == "letter":
            style = self._style(colour(row.letter), bold=True)
        elif column == "state" and job.state in STATE_COLOURS:
            style = self._style(STATE_COLOURS[job.state], bold=True)
        elif job.state.is_over:
            style = Style(dim=True)
        text = getattr(row, column)
        if column == "place" and "progress" not in self._columns and row.progress:
            text = f"{text}  {row.progress}" if job.state.holds_units else text
        return Text(text, style, no_wrap=True, overflow="ellipsis", end="")

    def _style(self, variable: str, bold: bool) -> Style:
        try:
            parsed = Color.parse(self.app.theme_variables[variable])
        except (KeyError, ColorParseError):
            return Style(bold=bold)
        return Style(color=parsed.rich_color, bold=bold)

    def _start_anew(self) -> None:
        """Columns for this width and colours for this theme; the cursor stays on its job."""
        chosen, width = self.chosen, self.size.width
        if not width:
            return
        self.clear(columns=True)
        self._rows_shown, self._order = {}, []
        columns = {"letter": 1, "id": 4, "name": 18, "state": 2, "time": 11, "shape": 5}
        if width >= WIDE:
            columns |= {"name": 22, "progress": 24}
        columns["place"] = max(16, width - sum(columns.values()) - 2 * (len(columns) + 1) - 1)
        for name in (field.name for field in fields(JobRow) if field.name in columns):
            self.add_column(LABELS[name], key=name, width=columns[name])
        self._columns = tuple(columns)
        self.show(self._cluster)
        if chosen is not None:
            self.choose(chosen)
