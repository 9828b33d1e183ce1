"""The last line of every screen: the keys that matter here, read from the registry."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from cockpit.ui.actions import Context, of


class KeyLine(Widget):
    """Stays while a screen or a panel of it is shown, so that the hand learns it; cut at whole keys."""

    DEFAULT_CSS = "KeyLine { height: 1; background: $panel; color: $text-muted; }"

    def __init__(self, contexts: Sequence[Context]) -> None:
        super().__init__()
        self._keys = _footer(contexts)
        everywhere = of([Context.EVERYWHERE]) if Context.EVERYWHERE in contexts else []
        self._always = [
            (action.key, action.label)
            for action in everywhere
            if action.footer or action.name == "palette"
        ]

    def show(self, contexts: Sequence[Context]) -> None:
        """Draw again if other keys work now: those of another panel, or of a search."""
        keys = _footer(contexts)
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Content:
        """The palette's key gives way to keys of the screen; that of the help, where all stand, not."""
        right = _spell(self._always)
        if _spell(self._keys).cell_length + right.cell_length > self.size.width:
            right = _spell(self._always[:1])
        left = Content()
        for key in self._keys:
            longer = left + _spell([key])
            if longer.cell_length + right.cell_length > self.size.width:
                break
            left = longer
        return left + " " * (self.size.width - left.cell_length - right.cell_length) + right


def _footer(contexts: Sequence[Context]) -> list[tuple[str, str]]:
    """Key and label; of a key that is there twice, what it means in the foremost context."""
    keys: dict[str, str] = {}
    for action in of(one for one in contexts if one is not Context.EVERYWHERE):
        if action.footer:
            keys.setdefault(action.key, action.label)
    return list(keys.items())


def _spell(keys: Sequence[tuple[str, str]]) -> Content:
    parts: list[str | tuple[str, str]] = []
    for key, label in keys:
        parts += [(f" {key}", "bold $accent"), f" {label} "]
    return Content.assemble(*parts)
