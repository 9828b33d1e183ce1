"""Screen 2: when does my job start, and what is it waiting for?"""

from __future__ import annotations

import shlex

from textual import on
from textual.app import ComposeResult
from textual.widgets import DataTable, Input, Static

from cockpit.core.cluster import Cluster
from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.job_row import reason
from cockpit.ui.model import Model
from cockpit.ui.screens.frame import Framed
from cockpit.ui.widgets.job_table import JobTable

EMPTY = """No job yet.

Press n to fill one in: a command, how many nodes, how many GPUs on each.
It starts by itself as soon as all of its GPUs are free, all or none."""
NO_MATCH = "No job has these words. Press Esc to show all again."


class Filter(Input):
    """Words that jobs must have; Enter keeps them."""

    DEFAULT_CSS = "Filter { height: 1; border: none; padding: 0 1; background: $surface; }"


class QueueScreen(Framed):
    """Every job; those that are over stand below those that live."""

    TAB = "queue"
    CONTEXTS = (Context.QUEUE, Context.LIST, Context.JOBS, Context.EVERYWHERE)
    BINDINGS = bindings(Context.QUEUE, Context.FILTER)
    DEFAULT_CSS = """
    QueueScreen #empty { padding: 1 2; color: $text-muted; height: auto; }
    QueueScreen #kept { height: 1; padding: 0 1; background: $surface; color: $accent; }
    QueueScreen #more { height: 3; padding: 0 1; border-top: solid $panel; }
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._awaited: frozenset[int] | None = None
        """The jobs there were when one was submitted: the next new one gets the cursor."""

    def body(self) -> ComposeResult:
        yield JobTable()
        yield Static(EMPTY, id="empty", markup=False)
        yield Static(id="more", markup=False)
        yield Filter(placeholder="words that a job must have; Enter keeps them", compact=True)
        yield Static(id="kept", markup=False)

    def on_mount(self) -> None:
        self.query_one(Filter).display = False
        self.query_one("#kept").display = False

    def show(self, cluster: Cluster) -> None:
        table = self.query_one(JobTable)
        table.show(cluster)
        if self._awaited is not None and (new := cluster.jobs.keys() - self._awaited):
            self._awaited = None
            table.choose(max(new))
        self._say_if_empty()
        self._tell_more()

    def await_new(self) -> None:
        """Put the cursor on the job that was just submitted, once it is there."""
        self._awaited = frozenset(self.model.cluster.jobs)

    @property
    def chosen_job(self) -> int | None:
        return self.query_one(JobTable).chosen

    @on(DataTable.RowHighlighted)
    def _tell_more(self) -> None:
        """The whole reason and the command of the job under the cursor, for which no row has room."""
        job = self.model.cluster.jobs.get(self.chosen_job or 0)
        text = (
            ""
            if job is None
            else f"{visible(reason(job))}\n{visible(shlex.join(job.request.argv))}"
        )
        more = self.query_one("#more", Static)
        if more.content != text:
            more.update(text)

    @on(JobTable.Changed)
    def _say_if_empty(self) -> None:
        empty = self.query_one("#empty", Static)
        empty.display = not self.query_one(JobTable).row_count
        words = NO_MATCH if self.model.cluster.jobs else EMPTY
        if empty.display and empty.content != words:
            empty.update(words)

    @on(DataTable.RowSelected)
    def _open(self) -> None:
        if (job := self.chosen_job) is not None:
            self.post_message(self.Opened(job))

    @property
    def contexts(self) -> tuple[Context, ...]:
        """Esc shows all again while something is filtered, and goes back while nothing is."""
        return (Context.FILTER, *self.CONTEXTS) if self._is_filtered else self.CONTEXTS

    @property
    def _is_filtered(self) -> bool:
        return any(box.display or box.value for box in self.query(Filter))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "show_all" or self._is_filtered

    def action_filter(self) -> None:
        self.query_one("#kept").display = False
        self.query_one(Filter).display = True
        self.query_one(Filter).focus()

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        table = self.query_one(JobTable)
        table.wanted = event.value
        table.show(self.model.cluster)
        self._say_if_empty()

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        event.input.display = False
        kept = self.query_one("#kept", Static)
        kept.display = bool(event.value)
        kept.update(f"filter: {visible(event.value, 100)}   Esc clears")
        self.query_one(JobTable).focus()

    def action_show_all(self) -> None:
        box = self.query_one(Filter)
        box.value = ""
        box.display = False
        self.query_one("#kept").display = False
        self.query_one(JobTable).focus()
