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
        here = [context for context in contexts if context is not Context.EVERYWHERE]
        self._keys = [(action.key, action.label) for action in of(here) if action.footer]
        everywhere = of([Context.EVERYWHERE]) if Context.EVERYWHERE in contexts else []
        self._always = [
            (action.key, action.label)
            for action in everywhere
            if action.footer or action.name == "palette"
        ]

    def show(self, contexts: Sequence[Context]) -> None:
        """The keys of another panel of the same screen."""
        keys: dict[str, str] = {}
        for action in of(one for one in contexts if one is not Context.EVERYWHERE):
            if action.footer:
                keys.setdefault(action.key, action.label)
        self._keys = list(keys.items())
        self.refresh()

    def render(self) -> Content:
        right = _spell(self._always)
        left = Content()
        for key in self._keys:
            longer = left + _spell([key])
            if longer.cell_length + right.cell_length > self.size.width:
                break
            left = longer
        return left + " " * (self.size.width - left.cell_length - right.cell_length) + right


def _spell(keys: Sequence[tuple[str, str]]) -> Content:
    parts: list[str | tuple[str, str]] = []
    for key, label in keys:
        parts += [(f" {key}", "bold $accent"), f" {label} "]
    return Content.assemble(*parts)
