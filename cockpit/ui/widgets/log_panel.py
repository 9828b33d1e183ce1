"""The log of a job's attempt with a line that says what of it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from cockpit.core.figures import counted, whole
from cockpit.core.text import visible
from cockpit.engine.spool import ForeignSpool
from cockpit.ui.actions import Context, bindings
from cockpit.ui.screens.rank_picker import Ranks
from cockpit.ui.widgets.log_view import LogView


class LogStatus(Widget):
    """How much there is, whether it is followed, and of which ranks it is."""

    DEFAULT_CSS = "LogStatus { height: 1; background: $surface; color: $text-muted; }"
    words: reactive[tuple[tuple[str, str], ...]] = reactive(())

    def render(self) -> Content:
        return Content.assemble(" ", *self.words)


class SearchLine(Input):
    """Asks what to look for; there only while it is asked."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.QUESTION)
    DEFAULT_CSS = """
    SearchLine, SearchLine:focus { height: 1; border: none; padding: 0 1; background: $panel; }
    """

    def on_mount(self) -> None:
        self.display = False

    def action_give_up(self) -> None:
        self.display = False
        self.screen.query_one(LogView).focus()


class LogPanel(Vertical):
    """Keeps the picked ranks over attempts and says why there is nothing to see."""

    def __init__(self) -> None:
        super().__init__()
        self.picked: Ranks | None = None
        """Ranks that are shown; None is all."""
        self.error = ""
        self._directory: Path | None = None
        self._waits_for = ""
        self._ended = ""
        self._chosen: Collection[str] | None = None

    def compose(self) -> ComposeResult:
        yield LogView()
        yield LogStatus()
        yield SearchLine()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    @property
    def ranks(self) -> list[tuple[int | None, str]]:
        """Every rank that has printed or will, and its node."""
        found = {entry.rank: entry.node for entry in self.view.entries}
        return sorted(found.items(), key=lambda item: (item[0] is None, item[0] or 0))

    def show(self, directory: Path, waits_for: str, ended: str) -> None:
        """Show an attempt's spool; `waits_for` is said while it is empty.

        `ended` says why no line will come, where none will.
        """
        self._waits_for, self._ended = waits_for, ended
        if directory != self._directory:
            self._directory = directory
            self._chosen = None
            self.error = ""
            self._guarded(lambda: self.view.open(directory))
        self._say()

    def tick(self) -> None:
        """Look for new lines."""
        self._guarded(self.view.tick)
        self._choose()

    def pick(self, ranks: Ranks | None) -> None:
        """Show only these ranks, or all."""
        self.picked = ranks
        self._choose()
        self._say()

    def on_log_view_moved(self) -> None:
        self._say()

    def _choose(self) -> None:
        chosen = None
        if self.picked is not None:
            chosen = {entry.name for entry in self.view.entries if entry.rank in self.picked}
        if chosen != self._chosen:
            self._chosen = chosen
            self.view.choose(chosen)

    def on_log_view_search_asked(self) -> None:
        line = self.query_one(SearchLine)
        line.placeholder = "text to find above; Enter finds, Esc leaves"
        line.display = True
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.display = False
        self.view.focus()
        self.view.look_for(event.value)

    def on_log_view_failed(self, event: LogView.Failed) -> None:
        self._fail(_words(event.error))

    def _guarded(self, look: Callable[[], None]) -> None:
        try:
            look()
        except ForeignSpool as trouble:
            self._fail(str(trouble))
        except OSError as trouble:
            self._fail(_words(trouble))

    def _fail(self, error: str) -> None:
        if error != self.error:
            self.error = error
            self._say()

    def _say(self) -> None:
        view = self.view
        words = [self._standing()]
        if self.picked is not None:
            names = ",".join("launcher" if r is None else str(r) for r in _sorted(self.picked))
            words.append((f"  ranks {names}", "$accent"))
        if view.search:
            words.append((f"  /{visible(view.search.text, 40)}: {view.search.state}", "$accent"))
        self.query_one(LogStatus).words = tuple(words)

    def _standing(self) -> tuple[str, str]:
        """Words and style: what is wrong, or how much there is and whether more comes."""
        view = self.view
        lines = counted(view.line_count, "line")
        if self.error:
            return visible(self.error), "bold $error"
        if not view.line_count:
            none = "no output" if self._ended else "no output yet"
            return f"{none}: {visible(self._waits_for)}", ""
        if self._ended:
            return f"■ {visible(self._ended)}, {lines}", ""
        if view.following:
            return f"▼ following  {lines}", ""
        hint = "" if view.search else "  f follows"
        return f"‖ paused  {whole(view.unseen)} new of {lines}{hint}", "$warning"


def _words(error: OSError) -> str:
    return f"the log cannot be read: {error}; check the disk of this machine"


def _sorted(ranks: Ranks) -> list[int | None]:
    return sorted(ranks, key=lambda rank: (rank is None, rank or 0))
