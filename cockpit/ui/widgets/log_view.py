"""The log of an attempt: only the lines on the screen are read, decoded and drawn."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.engine.spool import Entry, Line, SpoolReader
from cockpit.ui.actions import Context, bindings
from cockpit.ui.letters import COLOURS
from cockpit.ui.widgets import log_row
from cockpit.ui.widgets.log_search import Search

PREFIX_LIMIT = 18
"""Cells of `rank@node` at most."""
SIDE_STEP = 16
"""Cells by which left and right move a long line."""


class LogView(ScrollView, can_focus=True):
    """Draws any window of a spool; follows its end until somebody looks back."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.LOGS, Context.SEARCH)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--text",
        "log--error",
        "log--metric",
        "log--dim",
        "log--match",
        *(f"log--rank-{n}" for n in range(1, COLOURS + 1)),
    }
    DEFAULT_CSS = (
        """
    LogView {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .log--text { color: $foreground; }
        & > .log--error { color: $warning; text-style: bold; }
        & > .log--metric { color: $text-muted; }
        & > .log--dim { color: $text-muted; }
        & > .log--match { color: $accent; text-style: bold reverse; }
    """
        + "".join(
            f"& > .log--rank-{n} {{ color: $job-{n}; text-style: bold; }}\n"
            for n in range(1, COLOURS + 1)
        )
        + "}"
    )

    following: reactive[bool] = reactive(True)

    class Moved(Message):
        """What the view shows, or how much it does not show, changed."""

    class PickAsked(Message):
        """Somebody wants to choose ranks."""

    class SearchAsked(Message):
        """Somebody wants to find a text."""

    class Failed(Message):
        """The lines on the screen could not be read."""

        def __init__(self, error: OSError) -> None:
            super().__init__()
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self._reader: SpoolReader | None = None
        self.search: Search | None = None
        """What is being looked for, and where it was found last."""
        self._seen = 0
        """Lines there were when it last followed."""
        self._left = 0
        """Cells of every line that are to the left of the view."""
        self._first = 0
        self._window: list[Line] = []
        """Lines read last, from `_first` on."""
        self._asked = 0
        """How many were asked for; the log may be shorter."""
        self._named: list[Entry] = []
        """The streams for whose names there is room."""
        self._prefix = 0
        """Cells of the widest `rank@node`."""
        self._growing = False
        """Scrolling by itself just now, not by a person."""

    @property
    def entries(self) -> list[Entry]:
        """The streams there are."""
        return self._reader.entries if self._reader else []

    @property
    def line_count(self) -> int:
        return self._reader.line_count if self._reader else 0

    @property
    def unseen(self) -> int:
        """Lines that came since it was paused."""
        return 0 if self.following else max(0, self.line_count - self._seen)

    def on_resize(self) -> None:
        self._grow()

    def open(self, directory: Path) -> None:
        """Show an attempt from its end. Raises ForeignSpool and OSError."""
        self._reader = SpoolReader(directory)
        self.search = None
        self.following = True
        self._grow()

    def tick(self) -> None:
        """Look for new lines; draws only what changes the screen. Raises ForeignSpool and OSError."""
        if self._reader and self._reader.refresh():
            self._grow()

    def choose(self, streams: Collection[str] | None) -> None:
        """Show only these streams, or all, and stay at the place."""
        if self._reader is None:
            return
        place = self._reader.choose(streams, round(self.scroll_y))
        if self.search:
            self.search.line = place
        self._seen = self.line_count
        self._window, self._asked = [], 0
        self._grow()
        if not self.following:
            self._jump(place)

    def action_follow(self) -> None:
        self.following = not self.following

    def action_pick(self) -> None:
        self.post_message(self.PickAsked())

    def action_search(self) -> None:
        self.post_message(self.SearchAsked())

    def action_match(self, by: int) -> None:
        if self.search and self._reader:
            self.run_worker(self._find(self.search, by), exclusive=True)

    def action_end_search(self) -> None:
        self.look_for("")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of a search mean something else while there is none."""
        if action in ("match", "end_search"):
            return self.search is not None
        return super().check_action(action, parameters)

    def look_for(self, text: str) -> None:
        """Go to the last line at or above the bottom of the screen that has this text; "" ends it.

        A search pauses, or what it finds would scroll away.
        """
        bottom = min(round(self.scroll_y) + self.size.height, self.line_count)
        self.search = Search(text, bottom) if text else None
        self.following = self.following and not text
        self.action_match(-1)
        self._redraw()
        self.post_message(self.Moved())

    async def _find(self, search: Search, by: int) -> None:
        assert self._reader
        try:
            async for _ in search.run(self._reader, by):
                self.post_message(self.Moved())
        except OSError as error:
            self.post_message(self.Failed(error))
            return
        if search.found and search is self.search:
            self.following = False
            self._jump(max(0, min(search.line - self.size.height // 2, int(self.max_scroll_y))))
            self._redraw()

    def action_scroll_home(self) -> None:
        self._left = 0
        self.following = False
        self._jump(0)

    def action_scroll_end(self) -> None:
        self.following = True

    def action_scroll_down(self) -> None:
        self._move(1)

    def action_scroll_up(self) -> None:
        self._move(-1)

    def action_half_down(self) -> None:
        self._move(self.size.height // 2)

    def action_half_up(self) -> None:
        self._move(-(self.size.height // 2))

    def action_scroll_left(self) -> None:
        self._left = max(0, self._left - SIDE_STEP)
        self._redraw()

    def action_scroll_right(self) -> None:
        self._left += SIDE_STEP
        self._redraw()

    def watch_following(self, following: bool) -> None:
        self._seen = self.line_count
        if following:
            self._grow()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._growing and old_value != new_value:
            self.following = new_value >= self.max_scroll_y and self.search is None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._redraw()

    def render_line(self, y: int) -> Strip:
        line = self._line(round(self.scroll_y) + y)
        width = self.scrollable_content_region.width
        if line is None:
            return Strip.blank(width, self.rich_style)
        style = self.get_component_rich_style
        searched = self.search.pattern if self.search else None
        room = width - self._prefix - log_row.SIGN_CELLS
        row = log_row.prefix(line, self._prefix, style)
        row += log_row.body(line, room, self._left, searched, style)
        return Strip(row).adjust_cell_length(width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        self.focus()

    def _line(self, index: int) -> Line | None:
        if not self._first <= index < self._first + self._asked:
            self._read(round(self.scroll_y))
        place = index - self._first
        return self._window[place] if 0 <= place < len(self._window) else None

    def _read(self, first: int) -> None:
        self._first, self._asked = first, max(self.size.height, 1)
        try:
            self._window = self._reader.lines(first, self._asked) if self._reader else []
        except OSError as error:
            self._window = []
            self.post_message(self.Failed(error))

    def _grow(self) -> None:
        """Take over how many lines there are, and whether they change what is on the screen."""
        count = self.line_count
        self._make_room_for(self.entries)
        shows_all = len(self._window) == self.size.height
        is_settled = shows_all and all(line.is_whole for line in self._window)
        self._growing = True
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        if self.following:
            self._seen = count
            self._jump(self.max_scroll_y)
        self._growing = False
        if self.following or not is_settled:
            self._redraw()
        self.post_message(self.Moved())

    def _make_room_for(self, entries: list[Entry]) -> None:
        if entries != self._named:
            self._named = entries
            names = [cell_len(log_row.name(entry.rank, entry.node)) for entry in entries]
            self._prefix = min(max(names, default=0), PREFIX_LIMIT)

    def _move(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False)

    def _jump(self, line: int) -> None:
        # An animation that ends just there must not be stopped from within its last step.
        if line != self.scroll_y:
            self.scroll_to(y=line, animate=False, immediate=True)

    def _redraw(self) -> None:
        self._window, self._asked = [], 0
        self.refresh()
