"""A question with what it is about, answered by one key."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings, of
from cockpit.ui.describe import Fact
from cockpit.ui.dialogs.facts import table

CALM_S = 0.3
"""Seconds without another key after which a key is an answer and no part of a word."""
MEANT = frozenset(
    key for action in of([Context.DIALOG, Context.CHOICE, Context.LEAVE]) for key in action.keys
)
"""Keys that say something to a question; any other one shows that a word is being typed."""


class Ask(ModalScreen[bool]):
    """Enter takes the marked answer: yes, but where work would be lost (`danger`) to leave it.

    `y` is yes, Esc, `n` and `q` are no. A yes in the middle of fast typing does not count.
    """

    BINDINGS = bindings(Context.DIALOG)
    AUTO_FOCUS: ClassVar[str | None] = None
    DEFAULT_CSS = """
    Ask { align: center middle; background: $background 60%; }
    Ask > #box { width: 76; max-width: 96%; height: auto; max-height: 94%;
        border: round $primary; background: $surface; padding: 0 1; }
    Ask.danger > #box { border: round $error; }
    Ask #title { text-style: bold; padding-bottom: 1; }
    Ask #about { height: auto; max-height: 1fr; }
    Ask #facts { height: auto; }
    Ask #keys { color: $text-muted; padding-top: 1; height: auto; dock: bottom; }
    """

    def __init__(
        self,
        title: str,
        facts: Sequence[Fact],
        yes: str,
        no: str = "leave it",
        danger: bool = False,
    ) -> None:
        super().__init__(classes="danger" if danger else "")
        self._title, self._facts, self._yes, self._no = title, facts, yes, no
        self._danger = danger
        self._marks_yes = not danger
        self._opened = time.monotonic()
        self._pressed = self._opened
        """Monotonic seconds of the newest key."""
        self._is_hasty = False
        """That key came right after another one."""
        self._is_word = False
        """One of the keys that came without a pause means nothing here."""
        self._awaited: Timer | None = None
        """Ends in the answer that was given, if no other key comes."""

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(visible(self._title), id="title", markup=False)
            with VerticalScroll(id="about", can_focus=False):
                yield Static(table(self._facts), id="facts")
                yield from self.more()
            yield Static(self._foot(), id="keys")

    def more(self) -> ComposeResult:
        """Widgets below the facts."""
        yield from ()

    def keys(self) -> str:
        """What the keys do just now."""
        if not self._danger:
            return f"↵ {self._yes}   Esc {self._no}"
        marked = self._yes if self._marks_yes else self._no
        return f"↵ {marked}   y {self._yes}   Tab the other answer   Esc {self._no}"

    def accept(self) -> None:
        """Do what was asked about."""
        self.dismiss(True)

    def hears(self, key: events.Key) -> bool:
        """False for a key that was pressed before the question was there; Key.time is monotonic."""
        if key.time < self._opened:
            return False
        if key.time > self._pressed:
            self._is_hasty = key.time - self._pressed < CALM_S
            self._is_word = (self._is_hasty and self._is_word) or key.key not in MEANT
            self._pressed = key.time
            if self._awaited is not None:
                self._awaited.stop()
                self._awaited = None
        return True

    def answer(self, act: Callable[[], None]) -> None:
        """At once after a pause; in fast typing only if nothing else is typed."""
        if self._is_word:
            self.app.bell()
        elif self._is_hasty:
            self._awaited = self.set_timer(CALM_S, act)
        else:
            act()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is another answer to mark only where the mark stands on no."""
        return action != "other" or (self._danger and bool(self._yes))

    def action_enter(self) -> None:
        if self._marks_yes:
            self.action_yes()
        else:
            self.action_no()

    def action_yes(self) -> None:
        self.answer(self.accept)

    def action_no(self) -> None:
        self.dismiss(False)

    def action_other(self) -> None:
        self._marks_yes = not self._marks_yes
        self.query_one("#keys", Static).update(self._foot())

    def action_page_down(self) -> None:
        self.query_one("#about").scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.query_one("#about").scroll_page_up(animate=False)

    def _foot(self) -> Content:
        """Where work would be lost both answers, the marked one told by its sign; then the keys."""
        keys = Content(visible(self.keys()))
        if not self._danger or not self._yes:
            return keys
        places = ((self._no, not self._marks_yes), (self._yes, self._marks_yes))
        parts = [
            (f" ▸ {words} ", "bold reverse") if marked else (f"   {words} ", "")
            for words, marked in places
        ]
        return Content("\n").join([Content.assemble(*parts), keys])
