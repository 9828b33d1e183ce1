"""The next attempt of a job, looked at before it starts: from where, on which nodes, by which commands."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from cockpit.core.figures import counted
from cockpit.core.jobs import Checkpoint, Job
from cockpit.core.launch_plan import preview_restart
from cockpit.core.request import BadRequest
from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.actions import Context, bindings
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.dialogs.facts import Words
from cockpit.ui.dialogs.stop import at_stake
from cockpit.ui.model import Found, Model, Unavailable

LISTED = 6
"""Checkpoints shown at once."""
LOOK_S = 2.0
"""Seconds between two looks at what was saved meanwhile."""


class Restart(Ask):
    """Offers the newest complete checkpoint; another one, once chosen, stays chosen."""

    BINDINGS = bindings(Context.CHOICE)
    DEFAULT_CSS = """
    Restart > #box { width: 100; }
    Restart #list { height: auto; padding-top: 1; }
    Restart #commands { height: auto; padding-top: 1; color: $text-muted; }
    """

    def __init__(self, model: Model, job: Job, path: str | None = None) -> None:
        facts = [("job", f"{job.id}  {job.name}  ({job.state.value}, attempt {job.attempt})")]
        if job.state.holds_units:
            facts.append(("first", f"attempt {job.attempt} is stopped on {', '.join(job.nodes)}"))
        title = f"Restart job {job.id} as attempt {job.attempt + 1}?"
        super().__init__(title, facts, "restart it", danger=job.state.holds_units)
        self._model, self._job = model, job
        self._path = path
        """The one that a person chose; None is the newest complete one, whichever it is."""
        self._found: Sequence[Found] = ()
        self._chosen: int | None = None
        """Place in what was found; None starts from nothing."""
        self._looked: float | None = None
        """Monotonic seconds of the last look that was answered."""
        self._is_looking = False
        self._trouble = ""
        """Why the newest look was not answered."""

    def more(self) -> ComposeResult:
        yield Static(id="list")
        yield Static(id="commands")

    def keys(self) -> str:
        return f"{super().keys()}   ↓↑ checkpoint   ^d ^u scroll"

    def on_mount(self) -> None:
        self._draw()
        self._look()
        self.set_interval(LOOK_S, self._look)
        self.set_interval(1.0, self._draw_list)

    @work
    async def _look(self) -> None:
        """Ask the node of rank 0, which may take a while or fail."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            found = await self._model.checkpoints(self._job.id) if self._job.attempt else ()
        except Unavailable as error:
            self._trouble = str(error)
        else:
            self._trouble, self._looked = "", time.monotonic()
            self._found = found
            self._choose()
        self._is_looking = False
        self._draw()

    def _choose(self) -> None:
        complete = self._complete
        wanted = [place for place in complete if self._found[place].path == self._path]
        self._chosen = next(iter(wanted or complete), None)

    @property
    def _complete(self) -> list[int]:
        """Places of those from which a restart would not fail."""
        return [place for place, found in enumerate(self._found) if found.complete]

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def _move(self, by: int) -> None:
        complete = self._complete
        if self._chosen in complete:
            at = complete.index(self._chosen) + by
            self._chosen = complete[min(max(at, 0), len(complete) - 1)]
            self._path = self._found[self._chosen].path
            self._draw()

    def accept(self) -> None:
        """While nothing is known, nothing is started: `R` restarts without a look."""
        if self._looked is None:
            return
        chosen = None if self._chosen is None else self._found[self._chosen].path
        self._model.restart(self._job.id, chosen)
        self.dismiss(True)

    def _draw(self) -> None:
        self._draw_list()
        self.query_one("#commands", Static).update(self._commands())

    def _draw_list(self) -> None:
        self.query_one("#list", Static).update(self._list())

    def _list(self) -> Content:
        if self._looked is None:
            return self._no_list()
        lines = [self._age(self._looked)]
        if self._chosen is None:
            why = "no checkpoint is complete" if self._found else "there is no checkpoint"
            lines.append(Content.styled(f"From the beginning: {why}.", "bold"))
        first = max(0, (self._chosen or 0) - LISTED // 2)
        for place, found in list(enumerate(self._found))[first : first + LISTED]:
            lines.append(self._line(found, place == self._chosen))
        if (rest := len(self._found) - first - LISTED) > 0:
            lines.append(Content(f"  … {rest} older"))
        return Content("\n").join(lines)

    def _no_list(self) -> Content:
        if not self._trouble:
            return Content(visible(f"… looking for checkpoints on {self._job.home or 'its node'}"))
        words = f"✗ {self._trouble}\nR restarts it without this look."
        return Content.styled("\n".join(map(visible, words.splitlines())), "$error")

    def _age(self, looked: float) -> Content:
        """How old the list is, and why it is not newer."""
        words = f"as it was {wording.duration(time.monotonic() - looked)} ago"
        if not self._trouble:
            return Content.styled(words, "$text-muted")
        return Content.styled(visible(f"{words}; {self._trouble}"), "$warning")

    def _line(self, found: Found, is_chosen: bool) -> Content:
        now = self._model.cluster.now.wall
        age = "" if found.time is None else f"  {wording.duration(now - found.time)} old"
        ranks = "" if found.world_size is None else f"  {counted(found.world_size, 'rank')}"
        words = f"step {found.step:,}  {wording.size(found.bytes)}{age}{ranks}"
        if not found.complete:
            return Content.styled(visible(f"✗ {words}  not complete: {found.reason}"), "$warning")
        mark, style = ("▸ ", "bold") if is_chosen else ("  ", "")
        return Content.styled(visible(f"{mark}{words}"), style)

    def _commands(self) -> Content | Words:
        if self._looked is None:
            return Content("")
        chosen = None if self._chosen is None else self._found[self._chosen]
        resume = None if chosen is None else Checkpoint(chosen.step, chosen.path)
        try:
            lines = preview_restart(self._model.cluster, self._job, resume)
        except BadRequest as error:
            return Content.styled(visible(f"✗ {error}"), "$error")
        return Words([visible(line) for line in lines])


class RestartNow(Ask):
    """Without a look at the checkpoints; asked only where ranks run, since they are stopped."""

    def __init__(self, model: Model, job: Job) -> None:
        title = f"Restart job {job.id} now, as attempt {job.attempt + 1}?"
        facts = [*at_stake(job), ("from", "the newest complete checkpoint")]
        super().__init__(title, facts, "restart it", danger=True)
        self._model, self._job = model, job

    def accept(self) -> None:
        self._model.restart(self._job.id)
        self.dismiss(True)
