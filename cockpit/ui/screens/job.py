"""Screen 3: one job, its log, graphs, ranks, checkpoints, history and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import ContentSwitcher, DataTable

from cockpit.core.cluster import Cluster
from cockpit.core.jobs import Checkpoint, Job, JobState
from cockpit.ui.actions import Context, bindings
from cockpit.ui.dialogs.restart import Restart
from cockpit.ui.model import Model
from cockpit.ui.screens.events import History
from cockpit.ui.screens.frame import Framed
from cockpit.ui.screens.rank_picker import RankPicker, Ranks
from cockpit.ui.widgets.checkpoint_table import CheckpointPanel
from cockpit.ui.widgets.command_panel import CommandPanel
from cockpit.ui.widgets.graphs import Graphs
from cockpit.ui.widgets.job_header import JobHeader
from cockpit.ui.widgets.log_panel import LogPanel
from cockpit.ui.widgets.log_view import LogView
from cockpit.ui.widgets.panel_line import PanelLine
from cockpit.ui.widgets.rank_table import RankTable

PANELS = ("Logs", "Graphs", "Ranks", "Checkpoints", "Events", "Command")
KEYS: Mapping[str, tuple[Context, ...]] = {
    "logs": (Context.LOGS,),
    "graphs": (Context.GRAPHS,),
    "ranks": (Context.RANKS, Context.LIST),
    "checkpoints": (Context.CHECKPOINTS, Context.LIST),
    "events": (),
    "command": (Context.TEXT,),
}
"""Panel -> whose keys work in it."""
ENGINE = "engine"
"""Word of every alert that says that no engine works any more."""


class JobScreen(Framed):
    """Draws one panel at a time; the others cost nothing."""

    TAB = "job"
    CONTEXTS = (Context.JOB, Context.LOGS, Context.JOBS, Context.EVERYWHERE)
    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.JOB)
    DEFAULT_CSS = "JobScreen ContentSwitcher { height: 1fr; }"

    def __init__(self, model: Model, job_id: int) -> None:
        super().__init__(model)
        self.job_id = job_id
        self._attempt: int | None = None
        """The attempt whose log is shown; None is the newest."""
        self._saved: Checkpoint | None = None
        """The newest complete checkpoint when they were last looked up."""

    def body(self) -> ComposeResult:
        yield JobHeader()
        yield PanelLine(PANELS)
        with ContentSwitcher(initial="logs"):
            for name, panel in zip(PANELS, _panels(), strict=True):
                panel.id = name.lower()
                yield panel

    @property
    def chosen_job(self) -> int | None:
        return self.job_id

    @property
    def contexts(self) -> tuple[Context, ...]:
        first = (Context.SEARCH,) if self.panel == "logs" and self._is_searching else ()
        return (*first, Context.JOB, *KEYS[self.panel], Context.JOBS, Context.EVERYWHERE)

    @property
    def _is_searching(self) -> bool:
        return any(view.search for view in self.query(LogView))

    @property
    def job(self) -> Job | None:
        return self.model.cluster.jobs.get(self.job_id)

    @property
    def attempt(self) -> int:
        """The one whose log is shown; 1 before there is any."""
        newest = max(self.job.attempt, 1) if self.job else 1
        return newest if self._attempt is None else self._attempt

    @property
    def panel(self) -> str:
        """Id of the one that is shown; the first while the screen is being made."""
        switchers = self.query(ContentSwitcher)
        return (switchers.first().current if switchers else None) or "logs"

    def draw(self) -> None:
        super().draw()
        if self.panel == "logs":
            self.query_one(LogPanel).tick()
        elif self.panel == "graphs" and (graphs := self.query_one(Graphs)).is_due:
            is_over = self.job is not None and self.job.state.is_over
            graphs.show(self.model.metrics(self.job_id), is_over)

    def show(self, cluster: Cluster) -> None:
        job = self.job
        if job is None:
            return
        self.query_one(JobHeader).show(cluster, job, self.attempt)
        logs = self.query_one(LogPanel)
        ended = self._ended(job)
        logs.show(self.model.logs(self.job_id, self.attempt), _waits_for(job), ended)
        if self.panel == "ranks":
            self.query_one(RankTable).show(cluster, job, logs.picked)
        elif self.panel == "events":
            self.query_one(History).show(list(self.model.happenings(self.job_id)))
        elif self.panel == "command":
            self.query_one(CommandPanel).show(cluster, job)
        elif self.panel == "checkpoints" and job.checkpoint != self._saved:
            self._look()

    def _ended(self, job: Job) -> str:
        """Why no line will be added to the log that is shown; empty while some may be."""
        if job.state.is_over or self.attempt < job.attempt:
            return "complete"
        return "no engine follows it" if ENGINE in self.model.alert else ""

    def open(self, panel: str) -> None:
        """Show a panel and give it the keys."""
        self.query_one(ContentSwitcher).current = panel
        self.query_one(PanelLine).current = [name.lower() for name in PANELS].index(panel)
        shown = self.query_one(f"#{panel}")
        inner = next((one for one in shown.query("*") if one.focusable), None)
        (shown if shown.focusable else inner or shown).focus()
        if panel == "checkpoints":
            self._look()
        self.redraw()

    def redraw(self) -> None:
        """Draw the panel now, whether or not the snapshot changed."""
        self.show(self.model.cluster)
        self.draw()

    def action_panel(self, by: int) -> None:
        names = [name.lower() for name in PANELS]
        self.open(names[(names.index(self.panel) + by) % len(names)])

    def action_attempt(self, by: int) -> None:
        newest = max(self.job.attempt, 1) if self.job else 1
        wanted = min(max(self.attempt + by, 1), newest)
        self._attempt = None if wanted == newest else wanted
        self.redraw()

    def action_logs(self) -> None:
        self.open("logs")

    def on_panel_line_chosen(self, event: PanelLine.Chosen) -> None:
        self.open(PANELS[event.place].lower())

    def on_checkpoint_panel_chosen(self, event: CheckpointPanel.Chosen) -> None:
        if job := self.job:
            self.app.push_screen(Restart(self.model, job, event.found.path))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter on a line of the history leads nowhere else."""
        event.stop()

    def on_rank_table_picked(self, event: RankTable.Picked) -> None:
        logs = self.query_one(LogPanel)
        if event.alone:
            logs.pick(frozenset({event.rank}))
            self.open("logs")
            return
        picked = (logs.picked or frozenset()) ^ {event.rank}
        logs.pick(picked or None)
        self.redraw()

    def on_log_view_pick_asked(self, event: LogView.PickAsked) -> None:
        logs = self.query_one(LogPanel)

        def picked(ranks: Ranks | bool | None) -> None:
            if not isinstance(ranks, bool):
                logs.pick(ranks)

        self.app.push_screen(RankPicker(logs.ranks, logs.picked), picked)

    def _look(self) -> None:
        self._saved = self.job.checkpoint if self.job else None
        self.query_one(CheckpointPanel).look(self.model, self.job_id)


def _panels() -> tuple[LogPanel, Graphs, RankTable, CheckpointPanel, History, CommandPanel]:
    return LogPanel(), Graphs(), RankTable(), CheckpointPanel(), History(), CommandPanel()


def _waits_for(job: Job) -> str:
    """Why an attempt has printed nothing so far."""
    if job.state is JobState.PENDING:
        return f"it has not started: {job.reason or 'it waits for its turn'}"
    if job.state.is_over:
        no_log = "this attempt left no log on this machine"
        return no_log if job.attempt else f"it never started: {job.reason or job.state.value}"
    return job.phase or "the ranks are starting"
