"""What was asked for, and the exact commands that it means on the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from cockpit.core.cluster import Cluster
from cockpit.core.command import replaced
from cockpit.core.jobs import Job
from cockpit.core.launch_plan import commands, preview
from cockpit.core.request import BadRequest
from cockpit.core.text import visible
from cockpit.ui import describe
from cockpit.ui.actions import Context, bindings


class CommandPanel(VerticalScroll):
    """Facts of the job, then the commands node by node, ready to paste into a shell."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.TEXT)
    DEFAULT_CSS = (
        "CommandPanel { height: 1fr; padding: 0 1; } CommandPanel > Static { width: 1fr; }"
    )

    def __init__(self) -> None:
        super().__init__()
        self._drawn: Content | None = None

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, cluster: Cluster, job: Job) -> None:
        content = Content("\n").join([*_facts(cluster, job), Content(), *_commands(cluster, job)])
        if content != self._drawn:
            self._drawn = content
            self.query_one(Static).update(content)


def _facts(cluster: Cluster, job: Job) -> Iterable[Content]:
    for label, words in describe.job(cluster, job):
        yield Content.assemble((f"{label:>12}  ", "$text-muted"), words)


def _commands(cluster: Cluster, job: Job) -> Iterable[Content]:
    try:
        lines = commands(cluster, job) if job.parts else preview(cluster, job.request)
        told = replaced(job.request.argv, job.request.nodes, job.request.gpus)
    except BadRequest as error:
        yield Content.assemble(("no commands: ", "$warning"), visible(str(error)))
        return
    for note in told:
        yield Content.styled(visible(note), "$warning")
    for line in lines:
        yield Content.assemble((line, "bold $secondary" if line.startswith("#") else ""))
