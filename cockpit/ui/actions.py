"""Everything a key can do, once: footer, help, palette and bindings are all read from here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType


class Context(StrEnum):
    """Where a key means what it says; the value is its heading in the help."""

    EVERYWHERE = "Everywhere"
    JOBS = "Jobs"
    """Wherever a job can be chosen: cluster, queue, job."""
    MAP = "GPU map"
    LIST = "Lists"
    QUEUE = "Queue"
    FILTER = "Filter"
    JOB = "Job"
    LOGS = "Logs"
    SEARCH = "Search in a log"
    QUESTION = "Search text"
    GRAPHS = "Graphs"
    RANKS = "Ranks"
    CHECKPOINTS = "Checkpoints"
    PICKER = "Picking ranks"
    TEXT = "Text"
    FORM = "New job"
    DIALOG = "Questions"
    CHOICE = "Questions with a choice"
    LEAVE = "Leaving jobs that wait"
    READING = "Texts"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done, and the keys that do it."""

    id: str
    """Name of the Textual action: `action_<id>` of the widget, screen or app that binds it."""
    keys: tuple[str, ...]
    """As Textual names them; the first is the one shown."""
    label: str
    context: Context
    help: str
    """What it does, in a sentence without the full stop."""
    destructive: bool = False
    """It ends or replaces work, so it asks before it does."""
    footer: bool = False
    """Shown in the key line; everything is shown in the help."""
    at_once: bool = False
    """It moves the focus before the next key is read, so that keys typed ahead go where they should."""

    @property
    def key(self) -> str:
        """The first key, as people write it."""
        return SHOWN.get(self.keys[0], self.keys[0])

    @property
    def all_keys(self) -> str:
        return " ".join(SHOWN.get(key, key) for key in self.keys)

    @property
    def name(self) -> str:
        """The action without its arguments."""
        return self.id.partition("(")[0]


SHOWN = {
    "enter": "↵",
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
    "space": "Space",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    **{f"ctrl+{letter}": f"^{letter}" for letter in "cdprsu"},
}
"""Textual's name of a key -> the name that people use."""

_HERE, _JOBS, _MAP, _LIST = Context.EVERYWHERE, Context.JOBS, Context.MAP, Context.LIST
_JOB, _LOGS, _FORM, _DIALOG = Context.JOB, Context.LOGS, Context.FORM, Context.DIALOG

ACTIONS: Sequence[Action] = (
    Action("go('cluster')", ("1",), "Cluster", _HERE, "Show every node and GPU"),
    Action("go('queue')", ("2",), "Queue", _HERE, "Show every job"),
    Action("go('job')", ("3",), "Job", _HERE, "Show the chosen job, or the one shown last"),
    Action("go('events')", ("4",), "Events", _HERE, "Show what happened"),
    Action("help", ("question_mark",), "help", _HERE, "Show all keys", footer=True),
    Action("palette", ("ctrl+p", "colon"), "palette", _HERE, "Find an action, a job or a theme"),
    Action("reconnect", ("ctrl+r",), "reconnect", _HERE, "Try nodes that do not answer at once"),
    Action("back", ("q", "escape"), "back", _HERE, "Go back; from the first screen, quit"),
    Action("leave", ("ctrl+c", "ctrl+q"), "quit", _HERE, "Quit; jobs go on"),
    Action("new", ("n",), "new", _JOBS, "Fill in a new job, like the chosen one", footer=True),
    Action("restart", ("r",), "restart", _JOBS, "Restart, after a look at how", True, footer=True),
    Action(
        "restart_now", ("R",), "restart now", _JOBS, "Restart without a look; asks if it runs", True
    ),
    Action("cancel", ("c",), "cancel", _JOBS, "Stop with grace, after a question", True, True),
    Action("kill", ("K",), "kill", _JOBS, "Stop without grace, after its name is typed", True),
    Action("logs", ("l",), "logs", _JOBS, "Show what its ranks print", footer=True),
    Action("describe", ("d",), "describe", _JOBS, "Show all that is known", footer=True),
    Action("open", ("enter",), "open", _MAP, "Open the job on the GPU", footer=True),
    Action("zoom", ("z",), "zoom", _MAP, "Cycle full, compact and dots", footer=True),
    Action("go_left", ("left",), "left", _MAP, "One GPU to the left"),
    Action("go_right", ("right",), "right", _MAP, "One GPU to the right"),
    Action("go_down", ("down", "j"), "down", _MAP, "One row down"),
    Action("go_up", ("up", "k"), "up", _MAP, "One row up"),
    Action("go_first", ("g", "home"), "first", _MAP, "To the first GPU"),
    Action("go_last", ("G", "end"), "last", _MAP, "To the last GPU"),
    Action("half_down", ("ctrl+d", "pagedown"), "half a page down", _MAP, "Half a page down"),
    Action("half_up", ("ctrl+u", "pageup"), "half a page up", _MAP, "Half a page up"),
    Action("select_cursor", ("enter",), "open", _LIST, "Open the job", footer=True),
    Action("cursor_down", ("down", "j"), "down", _LIST, "One row down"),
    Action("cursor_up", ("up", "k"), "up", _LIST, "One row up"),
    Action("scroll_top", ("g", "home"), "first", _LIST, "To the first row"),
    Action("scroll_bottom", ("G", "end"), "last", _LIST, "To the last row"),
    Action("half_down", ("ctrl+d",), "half a page down", _LIST, "Half a page down"),
    Action("half_up", ("ctrl+u",), "half a page up", _LIST, "Half a page up"),
    Action("filter", ("slash",), "filter", Context.QUEUE, "Show only jobs with this", footer=True),
    Action("show_all", ("escape",), "all", Context.FILTER, "Show all again", footer=True),
    Action("attempt(-1)", ("left_square_bracket",), "attempt", _JOB, "The attempt before"),
    Action("attempt(1)", ("right_square_bracket",), "attempt", _JOB, "The attempt after"),
    Action("logs", ("l",), "logs", _JOB, "To the log"),
    Action("panel(1)", ("tab",), "panels", _JOB, "The next panel", footer=True),
    Action("panel(-1)", ("shift+tab",), "panel", _JOB, "The panel before"),
    Action("follow", ("f",), "follow", _LOGS, "Follow the end, or pause", footer=True),
    Action("pick", ("space",), "ranks", _LOGS, "Pick ranks", footer=True),
    Action("scroll_down", ("down", "j"), "down", _LOGS, "One line down"),
    Action("scroll_up", ("up", "k"), "up", _LOGS, "One line up"),
    Action("half_down", ("ctrl+d",), "half a page down", _LOGS, "Half a page down"),
    Action("half_up", ("ctrl+u",), "half a page up", _LOGS, "Half a page up"),
    Action("scroll_home", ("g", "home"), "first", _LOGS, "To the first line"),
    Action("scroll_end", ("G", "end"), "last", _LOGS, "To the last line, and follow"),
    Action("scroll_left", ("left",), "left", _LOGS, "Towards the beginning of long lines"),
    Action("scroll_right", ("right",), "right", _LOGS, "Towards the end of long lines"),
    Action("search", ("slash",), "search", _LOGS, "Find a text, from here backwards", footer=True),
    Action("match(-1)", ("n",), "older", Context.SEARCH, "The match before", footer=True),
    Action("match(1)", ("N",), "newer", Context.SEARCH, "The match after", footer=True),
    Action("end_search", ("escape",), "end", Context.SEARCH, "End the search", footer=True),
    Action("give_up", ("escape",), "leave", Context.QUESTION, "Leave it as it was"),
    Action("graph(-1)", ("left",), "graph", Context.GRAPHS, "The graph before"),
    Action("graph(1)", ("right",), "graph", Context.GRAPHS, "The graph after"),
    Action("zoom", ("z", "enter"), "zoom", Context.GRAPHS, "One graph alone, or all", footer=True),
    Action("select_cursor", ("enter",), "its log", Context.RANKS, "Its log alone", footer=True),
    Action("pick", ("space",), "pick", Context.RANKS, "Add it to the log", footer=True),
    Action(
        "select_cursor",
        ("enter",),
        "restart from it",
        Context.CHECKPOINTS,
        "Restart from it",
        footer=True,
    ),
    Action("pick", ("space",), "mark", Context.PICKER, "Mark a rank, or unmark it"),
    Action("cursor_down", ("down", "j"), "down", Context.PICKER, "One rank down"),
    Action("cursor_up", ("up", "k"), "up", Context.PICKER, "One rank up"),
    Action("apply", ("enter",), "show", Context.PICKER, "Show the picked ranks"),
    Action("everything", ("a",), "all", Context.PICKER, "Pick all ranks, or none"),
    Action("back", ("escape", "q"), "back", Context.PICKER, "Leave it as it was"),
    Action("scroll_down", ("down", "j"), "down", Context.TEXT, "One line down"),
    Action("scroll_up", ("up", "k"), "up", Context.TEXT, "One line up"),
    Action("page_down", ("ctrl+d", "pagedown"), "page", Context.TEXT, "A page down"),
    Action("page_up", ("ctrl+u", "pageup"), "page", Context.TEXT, "A page up"),
    Action("scroll_home", ("g", "home"), "first", Context.TEXT, "To the first line"),
    Action("scroll_end", ("G", "end"), "last", Context.TEXT, "To the last line"),
    Action("submit", ("ctrl+s",), "submit", _FORM, "Queue the job", footer=True),
    Action(
        "next_field",
        ("enter",),
        "next",
        _FORM,
        "To the next field; from the last one, queue the job",
        at_once=True,
    ),
    Action("back", ("escape",), "back", _FORM, "Go back; the form is kept", footer=True),
    Action("enter", ("enter",), "take", _DIALOG, "Take the marked answer"),
    Action("yes", ("y",), "yes", _DIALOG, "Do it"),
    Action("no", ("escape", "n", "q"), "no", _DIALOG, "Leave it as it is"),
    Action(
        "other",
        ("tab", "shift+tab", "left", "right"),
        "other",
        _DIALOG,
        "Mark the other answer, where work would be lost",
    ),
    Action("page_down", ("ctrl+d", "pagedown"), "page", _DIALOG, "A page down"),
    Action("page_up", ("ctrl+u", "pageup"), "page", _DIALOG, "A page up"),
    Action("up", ("up", "k"), "another", Context.CHOICE, "The one above"),
    Action("down", ("down", "j"), "another", Context.CHOICE, "The one below"),
    Action("daemon", ("d",), "daemon", Context.LEAVE, "Quit, and leave an engine behind"),
    Action("close", ("escape", "q", "enter"), "close", Context.READING, "Close it"),
    Action("scroll_down", ("down", "j"), "down", Context.READING, "One line down"),
    Action("scroll_up", ("up", "k"), "up", Context.READING, "One line up"),
    Action("page_down", ("ctrl+d", "pagedown", "space"), "page", Context.READING, "A page down"),
    Action("page_up", ("ctrl+u", "pageup"), "page", Context.READING, "A page up"),
)


def of(contexts: Iterable[Context]) -> list[Action]:
    """The actions of some contexts, in the order of the contexts."""
    return [action for context in contexts for action in ACTIONS if action.context is context]


def bindings(*contexts: Context) -> list[BindingType]:
    """For the BINDINGS of the app, a screen or a widget."""
    return [
        Binding(",".join(action.keys), action.id, action.label, show=False, priority=action.at_once)
        for action in of(contexts)
    ]
