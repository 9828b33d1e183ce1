"""Which ranks the log shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label, SelectionList

from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings

Ranks = frozenset[int | None]


class RankList(SelectionList[int | None]):
    """Space marks a rank, Enter shows what is marked."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.PICKER)

    def action_apply(self) -> None:
        everything = len(self.selected) in (0, self.option_count)
        self.screen.dismiss(None if everything else frozenset(self.selected))

    def action_everything(self) -> None:
        if len(self.selected) == self.option_count:
            self.deselect_all()
        else:
            self.select_all()

    def action_back(self) -> None:
        self.screen.dismiss(False)


class RankPicker(ModalScreen[Ranks | bool | None]):
    """Answers the picked ranks, None for all, False where it was left."""

    DEFAULT_CSS = """
    RankPicker { align: center middle; }
    RankPicker > Vertical {
        width: 46; max-width: 90%; height: auto; max-height: 80%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    RankPicker RankList, RankPicker RankList:focus {
        height: auto; max-height: 20; border: none; background: $surface;
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
            yield RankList(
                *(
                    (Content(_name(rank, node)), rank, self._picked is None or rank in self._picked)
                    for rank, node in self._ranks
                )
            )
            yield Label("Space marks  a all/none  ↵ shows  Esc back", classes="hint")


def _name(rank: int | None, node: str) -> str:
    who = "launcher" if rank is None else f"rank {rank}"
    return f"{who} on {visible(node, 40)}"
