"""Two lines above a job's panels: what and where it is; how far it came, or what holds it up."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from cockpit.core.cluster import Cluster
from cockpit.core.figures import short, whole
from cockpit.core.job_time import run_time
from cockpit.core.jobs import Job, JobState
from cockpit.core.progress import bar, progress_of
from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.hostlist import folded
from cockpit.ui.job_row import reason
from cockpit.ui.letters import colour, letters

GAP = "  "
BAR_CELLS = 10
STATE_COLOURS = {
    JobState.RUNNING: "$success",
    JobState.CONFIGURING: "$primary",
    JobState.COMPLETING: "$warning",
    JobState.FAILED: "$error",
    JobState.NODE_FAIL: "$error",
}


def identity(job: Job, now: float, attempt: int) -> list[str]:
    """State, attempt, shape, nodes and time, most telling first."""
    words = [job.state.name]
    if job.attempt and attempt != job.attempt:
        words.append(f"showing attempt {attempt} of {job.attempt}")
    elif job.attempt:
        words.append(f"attempt {job.attempt}")
    place = f" {visible(folded(job.nodes))}" if job.nodes else ""
    return [*words, f"{job.request.shape}{place}", run_time(job, now)]


def progress(job: Job) -> list[str]:
    """Step, time left, loss, speed and the last checkpoint, each with its unit."""
    words = []
    if (found := progress_of(job)) is not None:
        words.append(f"step {whole(found.step)}/{whole(found.total)}")
        words.append(f"{bar(found.fraction, BAR_CELLS)} {found.fraction:.0%}")
        if job.state is JobState.RUNNING and found.left_s:
            words.append(f"eta {wording.duration(found.left_s)}")
    elif job.step is not None:
        words.append(f"step {whole(job.step)}")
    if "loss" in job.values:
        words.append(f"loss {short(job.values['loss'])}")
    if "tokens_per_s" in job.values:
        words.append(f"{short(job.values['tokens_per_s'])} tok/s")
    if job.checkpoint:
        words.append(f"checkpoint {whole(job.checkpoint.step)}")
    return words


def trouble(job: Job) -> str:
    """Why it waits, fails or is being stopped, and how it ended."""
    if not job.attempt:
        return f"{'never' if job.state.is_over else 'has not'} started: {visible(reason(job))}"
    code = f"exit code {job.code}" if job.code else ""
    return ": ".join(word for word in (code, visible(job.reason)) if word)


class JobHeader(Widget):
    """Letter, name and everything one look should tell of a job."""

    DEFAULT_CSS = "JobHeader { height: 2; background: $surface; color: $foreground; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Content, Content] = (Content(), Content())

    def show(self, cluster: Cluster, job: Job, attempt: int) -> None:
        """Draw again if a word of it changed."""
        rows = (self._first(cluster, job, attempt), self._second(job))
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    def render(self) -> Content:
        return Content("\n").join(_cut(row, self.size.width) for row in self._rows)

    def _first(self, cluster: Cluster, job: Job, attempt: int) -> Content:
        letter = letters(cluster.jobs)[job.id]
        state, *rest = identity(job, cluster.now.wall, attempt)
        return Content.assemble(
            (f" {letter} ", f"bold ${colour(letter)}"),
            (_shortened(visible(job.name, 64), max(16, self.size.width // 4)), "bold"),
            f"{GAP}#{job.id}{GAP}",
            (state, f"bold {STATE_COLOURS.get(job.state, '$foreground')}"),
            _joined(rest),
        )

    def _second(self, job: Job) -> Content:
        phase = visible(job.phase) if not job.state.is_over else ""
        return Content.assemble(
            " ",
            _joined(progress(job)),
            (f"{GAP}{phase}" if phase else "", "$secondary"),
            (f"{GAP}{trouble(job)}", "$warning"),
        )


def _joined(words: Sequence[str]) -> str:
    return "".join(GAP + word for word in words)


def _shortened(name: str, cells: int) -> str:
    return name if cell_len(name) <= cells else f"{set_cell_size(name, cells - 1).rstrip()}…"


def _cut(row: Content, width: int) -> Content:
    if cell_len(row.plain) <= width:
        return row
    kept = set_cell_size(row.plain, max(0, width - 1)).rstrip()
    return row[: len(kept)] + Content("…")
