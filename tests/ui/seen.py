"""What a person sees: the text of the whole screen, as the terminal gets it."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from cockpit.ui.app import CockpitApp
from tests.ui.model import MemoryModel

TEXT = re.compile(r'<text[^>]*\bx="([\d.]+)"[^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>')
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys instead of showing them."""


def screen(app: App[Any]) -> str:
    """The lines of the screen, pieces in order; columns between pieces are one space."""
    lines: dict[float, list[tuple[float, str]]] = defaultdict(list)
    for x, y, text in TEXT.findall(app.export_screenshot()):
        lines[float(y)].append((float(x), html.unescape(text).replace("\xa0", " ")))
    return "\n".join("".join(text for _, text in sorted(lines[y])) for y in sorted(lines))


async def until(pilot: Pilot[Any], condition: Callable[[], bool], tries: int = 200) -> None:
    """Wait until it is so; fails with the screen if it never is."""
    for _ in range(tries):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError(f"never came true; the screen was\n{screen(pilot.app)}")


async def until_seen(pilot: Pilot[Any], text: str) -> None:
    await until(pilot, lambda: text in screen(pilot.app))


def cockpit(
    model: MemoryModel, width: int = 80, height: int = 24, **options: Any
) -> AbstractAsyncContextManager[Pilot[str]]:
    """The app on a headless terminal of a size."""
    return CockpitApp(model, **options).run_test(size=(width, height), notifications=True)
