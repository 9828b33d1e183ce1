"""Which ranks the log shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList

from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings

Ranks = frozenset[int | None]
"""Global ranks; None is the launcher's own output."""


class RankList(OptionList):
    """Space marks a rank, Enter shows what is marked."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.PICKER)

    def __init__(self, ranks: Sequence[tuple[int | None, str]], picked: Ranks | None) -> None:
        self._ranks = ranks
        self.marked = {rank for rank, _ in ranks if picked is None or rank in picked}
        super().__init__(*(self._prompt(place) for place in range(len(ranks))))

    def action_pick(self) -> None:
        if self.highlighted is not None:
            self.marked ^= {self._ranks[self.highlighted][0]}
            self._redraw(self.highlighted)

    def action_everything(self) -> None:
        every = {rank for rank, _ in self._ranks}
        self.marked = set() if self.marked == every else every
        for place in range(len(self._ranks)):
            self._redraw(place)

    def action_apply(self) -> None:
        everything = len(self.marked) in (0, len(self._ranks))
        self.screen.dismiss(None if everything else frozenset(self.marked))

    def action_back(self) -> None:
        self.screen.dismiss(False)

    def _redraw(self, place: int) -> None:
        self.replace_option_prompt_at_index(place, self._prompt(place))

    def _prompt(self, place: int) -> Content:
        rank, node = self._ranks[place]
        who = "launcher" if rank is None else f"rank {rank}"
        return Content(f"[{'x' if rank in self.marked else ' '}] {who} on {visible(node, 40)}")


class RankPicker(ModalScreen[Ranks | bool | None]):
    """Answers the picked ranks, None for all, False where it was left."""

    DEFAULT_CSS = """
    RankPicker { align: center middle; }
    RankPicker > Vertical {
        width: 46; max-width: 90%; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    RankPicker RankList, RankPicker RankList:focus {
        height: auto; max-height: 16; border: none; background: $surface;
    }
    RankPicker .hint { color: $text-muted; }
    """

    def __init__(self, ranks: Sequence[tuple[int | None, str]], picked: Ranks | None) -> None:
        super().__init__()
        self._ranks = ranks
        self._picked = picked

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Ranks in the log", markup=False)
            yield RankList(self._ranks, self._picked)
            yield Label("Space marks  a all/none  ↵ shows  Esc back", markup=False, classes="hint")
