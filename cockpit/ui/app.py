"""The cockpit's shell: screens, themes, the tick, and what is asked before something is done."""

from __future__ import annotations

from typing import Any

from textual import events, on
from textual.app import App
from textual.command import CommandPalette
from textual.notifications import SeverityLevel
from textual.screen import Screen

from cockpit.core.jobs import Job, JobState
from cockpit.core.text import visible
from cockpit.ui import describe
from cockpit.ui.actions import Context, bindings, of
from cockpit.ui.contrast import legible
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.dialogs.facts import table
from cockpit.ui.dialogs.leave import Leave
from cockpit.ui.dialogs.reading import Reading, help_text
from cockpit.ui.dialogs.restart import Restart, RestartNow
from cockpit.ui.dialogs.stop import Cancel, Kill
from cockpit.ui.draft import Draft, draft_of
from cockpit.ui.job_row import reason
from cockpit.ui.model import Model
from cockpit.ui.palette import Commands
from cockpit.ui.screens.cluster import ClusterScreen
from cockpit.ui.screens.events import EventsScreen
from cockpit.ui.screens.frame import Framed
from cockpit.ui.screens.job import JobScreen
from cockpit.ui.screens.launch import LaunchScreen
from cockpit.ui.screens.queue import QueueScreen
from cockpit.ui.themes import DARK, directories, load

TICK_S = 0.1
"""The snapshot is looked at this often; what did not change costs nothing."""


class CockpitApp(App[str], inherit_bindings=False):
    """Pulls the model's snapshot and draws what changed; returns what to print after it."""

    TITLE = "cockpit"
    COMMANDS = {Commands}  # noqa: RUF012  # Textual's own way to name them
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = bindings(Context.EVERYWHERE, Context.JOBS)
    CSS = "Toast { max-width: 70; }"

    def __init__(self, model: Model, leaving: str = "", theme: str = DARK) -> None:
        """`leaving` says what quitting ends, where it ends something; jobs go on by default."""
        self._themes = load(directories())
        super().__init__()
        self.model = model
        self._leaving = leaving
        self._draft = Draft()
        self._last_job: int | None = None
        self._queue = QueueScreen(model)
        self._events = EventsScreen(model)
        for found in self._themes.loaded.values():
            self.register_theme(found)
        self.theme = theme if theme in self.available_themes else DARK

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(self._themes.variables[self.current_theme.dark])

    def get_css_variables(self) -> dict[str, str]:
        """The theme's colours, each readable as text on the theme's own grounds."""
        self.theme_variables = legible(super().get_css_variables())
        return self.theme_variables

    def get_default_screen(self) -> Screen[Any]:
        return ClusterScreen(self.model)

    def on_mount(self) -> None:
        self.install_screen(self._queue, "queue")
        self.install_screen(self._events, "events")
        self.set_interval(TICK_S, self._tick)
        for path, why in self._themes.failed.items():
            self._say(f"The theme {path} is not used: {why}.", "warning")

    def _tick(self) -> None:
        if self.is_running:
            self.framed.tick()

    async def on_event(self, event: events.Event) -> None:
        """Keys on their way when a question opens are no answer to it."""
        if isinstance(event, events.Key) and self.screen_stack:
            shown = self.screen
            if isinstance(shown, Ask) and not shown.hears(event):
                return
        await super().on_event(event)

    @property
    def framed(self) -> Framed:
        """The screen that is shown, below any question."""
        return next(one for one in reversed(self.screen_stack) if isinstance(one, Framed))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of jobs work only where a job can be chosen."""
        if any(one.name == action for one in of([Context.JOBS])):
            return Context.JOBS in self.framed.CONTEXTS
        if any(one.name == action for one in of([Context.EVERYWHERE])):
            return action == "leave" or Context.EVERYWHERE in self.framed.CONTEXTS
        return True

    def _say(self, text: str, severity: SeverityLevel = "information") -> None:
        self.notify(visible(text), severity=severity, markup=False)

    # --- where to go

    def action_go(self, to: str) -> None:
        """From any screen to any screen; `back` then leads to the cluster."""
        if to == "job":
            job = self.framed.chosen_job or self._foremost()
            self._show_job(job) if job else self._say("There is no job yet. Press n for one.")
            return
        if to == self.framed.TAB:
            return
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if to != "cluster":
            self.push_screen(to)

    def _foremost(self) -> int | None:
        """The job shown last; else the newest that runs, else the newest."""
        if self._last_job is not None and self._last_job in self.model.cluster.jobs:
            return self._last_job
        jobs = self.model.cluster.jobs.values()
        running = [job.id for job in jobs if job.state.holds_units]
        return max(running or [job.id for job in jobs], default=None)

    @on(Framed.Opened)
    def _open(self, event: Framed.Opened) -> None:
        self._show_job(event.job)

    def _show_job(self, job: int) -> None:
        if isinstance(self.framed, JobScreen):
            if self.framed.chosen_job == job:
                return
            self.pop_screen()
        self._last_job = job
        self.push_screen(JobScreen(self.model, job))

    async def action_back(self) -> None:
        if len(self.screen_stack) > 1:
            await self.pop_screen()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Asks only where something goes on, or ends, without the screen; a second time leaves."""
        daemon = self.model.leave_daemon if self.model.runs_engine else None
        question = Leave(self.model.cluster.jobs, self._leaving, daemon)
        if not question.lines or isinstance(self.screen, Leave):
            self.exit(question.farewell)
            return
        while not isinstance(self.screen, Framed):
            self.pop_screen()
        self.push_screen(question, lambda yes: self.exit(question.farewell) if yes else None)

    # --- what to show over it

    def action_reconnect(self) -> None:
        self.model.reconnect()

    def action_help(self) -> None:
        self.push_screen(Reading("Keys", help_text(self.framed.contexts)))

    def action_palette(self) -> None:
        self.push_screen(CommandPalette())

    def action_describe(self) -> None:
        job, screen = self._job(quiet=True), self.framed
        if job is not None:
            facts = describe.job(self.model.cluster, job)
            self.push_screen(Reading(f"Job {job.id} {job.name}", table(facts)))
        elif isinstance(screen, ClusterScreen) and (found := screen.facts()):
            self.push_screen(Reading(found[0], table(found[1])))
        else:
            self._say("There is nothing under the cursor to describe.")

    # --- what to do with jobs

    def _job(self, quiet: bool = False) -> Job | None:
        """The chosen job; if there is none, says how to choose one."""
        job = self.model.cluster.jobs.get(self.framed.chosen_job or 0)
        if job is None and not quiet:
            self._say("No job is chosen. Put the cursor on one, here or in the queue (2).")
        return job

    def action_new(self) -> None:
        job = self._job(quiet=True)
        draft = draft_of(job.request) if job else self._draft
        self.push_screen(LaunchScreen(self.model, draft))

    @on(LaunchScreen.Left)
    def _keep(self, event: LaunchScreen.Left) -> None:
        self._draft = event.draft
        self.pop_screen()

    @on(LaunchScreen.Submitted)
    def _submit(self, event: LaunchScreen.Submitted) -> None:
        self._draft = event.draft
        self._queue.await_new()
        self.model.submit(event.request)
        self.action_go("queue")
        self._say(f"Job queued: {event.request.name}.")

    def action_restart(self) -> None:
        if job := self._restartable():
            self.push_screen(Restart(self.model, job))

    def action_restart_now(self) -> None:
        job = self._restartable()
        if job is not None and job.state.holds_units:
            self.push_screen(RestartNow(self.model, job))
        elif job is not None:
            self.model.restart(job.id)
            self._say(f"Job {job.id} restarts from its newest complete checkpoint.")

    def _restartable(self) -> Job | None:
        job = self._job()
        if job is not None and job.state is JobState.PENDING:
            self._say(f"Job {job.id} waits for its start already: {reason(job)}.")
            return None
        return job

    def action_cancel(self) -> None:
        if job := self._living():
            self.push_screen(Cancel(self.model, job))

    def action_kill(self) -> None:
        if job := self._living():
            self.push_screen(Kill(self.model, job))

    def _living(self) -> Job | None:
        job = self._job()
        if job is not None and job.state.is_over:
            self._say(f"Job {job.id} is over already ({job.state.value}). Press r to restart it.")
            return None
        return job

    def action_logs(self) -> None:
        if job := self._job():
            self._show_job(job.id)
