"""What ctrl+p finds: the actions that work here, the jobs, and the themes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.types import IgnoreReturnCallbackType

from cockpit.core.text import visible
from cockpit.ui.actions import of
from cockpit.ui.screens.frame import Framed

MOVES = ("go_", "cursor_", "scroll_", "half_", "show_all", "back")
"""Beginnings of actions that are no use in a list: they move something."""

Command = tuple[str, str, IgnoreReturnCallbackType]
"""Name, help and what to run. The palette reads the help as markup: only our own words there."""


class Commands(Provider):
    """Reads the registry through the screen below the palette."""

    async def discover(self) -> Hits:
        for name, what, run in self._commands():
            yield DiscoveryHit(Content(name), run, help=what)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, what, run in self._commands():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, _marked(name, query), run, help=what)

    def _commands(self) -> Iterator[Command]:
        screen = self.screen
        if not isinstance(screen, Framed):
            return
        active = {found.binding.action: found.node for found in screen.active_bindings.values()}
        for action in of(screen.contexts):
            if action.id in active and not action.name.startswith(MOVES):
                run = partial(self.app.run_action, action.id, active[action.id])
                yield f"{action.label}  ({action.key})", action.help, run
        for job in reversed(list(screen.model.cluster.jobs.values())):
            name = f"job {job.id} {visible(job.name, 64)} ({job.state.value})"
            opened = partial(screen.post_message, Framed.Opened(job.id))
            yield name, "Open it", opened
        for theme in self.app.available_themes:
            run_theme = partial(setattr, self.app, "theme", theme)
            yield f"theme {visible(theme)}", "Use these colours", run_theme


def _marked(name: str, query: str) -> Content:
    at = name.casefold().find(query.casefold())
    content = Content(name)
    return content if at < 0 else content.stylize("bold underline", at, at + len(query))
