"""Stopping a job: with grace after a question, without grace after its name is typed."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from cockpit.core.figures import counted
from cockpit.core.jobs import Job
from cockpit.core.text import visible
from cockpit.ui.describe import Fact
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.model import Model


def at_stake(job: Job) -> list[Fact]:
    """What a job holds and what of it would remain."""
    facts = [("job", f"{job.id}  {job.name}  ({job.state.value}, attempt {job.attempt})")]
    if not job.state.holds_units:
        return [*facts, ("nodes", "none yet: it only leaves the queue")]
    facts.append(("nodes", f"{', '.join(job.nodes)}  ({counted(job.ranks, 'rank')})"))
    if job.checkpoint is None:
        return [*facts, ("saved", "nothing yet: all of its work would be lost")]
    lost = "" if job.step is None else f", {counted(job.step - job.checkpoint.step, 'step')} behind"
    return [
        *facts,
        ("saved", f"step {job.checkpoint.step:,}{lost}"),
        ("in", job.checkpoint.path),
    ]


class Cancel(Ask):
    """Names the job, its nodes and its last checkpoint, and then cancels it."""

    def __init__(self, model: Model, job: Job) -> None:
        grace = f"each rank has {job.request.grace_s} s to save and end"
        held: list[Fact] = [("how", grace)] if job.state.holds_units else []
        super().__init__("Cancel this job?", [*at_stake(job), *held], "cancel it", danger=True)
        self._model, self._job = model, job

    def accept(self) -> None:
        self._model.cancel(self._job.id)
        self.dismiss(True)


class Kill(Ask):
    """Wants the job's name typed, and then ends its ranks at once."""

    AUTO_FOCUS = "Input"
    DEFAULT_CSS = "Kill Input { margin-top: 1; border: none; height: 1; background: $panel; }"

    def __init__(self, model: Model, job: Job) -> None:
        how = ("how", "every rank is ended at once and saves nothing")
        super().__init__("Kill this job without grace?", [*at_stake(job), how], "", danger=True)
        self._model, self._job = model, job

    def more(self) -> ComposeResult:
        yield Input(placeholder="type the job's name", compact=True)
        yield Static("", id="wrong", markup=False)

    def keys(self) -> str:
        return f"type {visible(self._job.name)} and ↵ to kill it   Esc leave it"

    @on(Input.Submitted)
    def _kill(self, event: Input.Submitted) -> None:
        if event.value.strip() != self._job.name:
            words = f"That is not its name. Type {visible(self._job.name)}, or Esc to leave it."
            self.query_one("#wrong", Static).update(words)
            return
        self._model.cancel(self._job.id, grace_s=0)
        self.dismiss(True)
