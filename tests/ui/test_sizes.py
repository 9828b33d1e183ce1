"""Any terminal: every screen is drawn, and what matters stays on it."""

from __future__ import annotations

import pytest

from tests.ui.lab import lab
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen


@pytest.mark.parametrize("size", [(12, 4), (40, 10), (80, 24), (250, 80)])
@pytest.mark.parametrize("nodes", [1, 64])
async def test_every_screen_is_drawn_in_every_size(size: tuple[int, int], nodes: int) -> None:
    async with cockpit(MemoryModel(lab(nodes)), *size) as pilot:
        for key in ("z", "z", "2", "d", "escape", "n", "escape", "4", "1", "question_mark"):
            await pilot.press(key)
        await pilot.press("escape", "q")
        assert screen(pilot.app)


async def test_a_terminal_that_grows_and_shrinks_is_followed() -> None:
    async with cockpit(MemoryModel()) as pilot:
        for size in ((20, 6), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        shown = screen(pilot.app)
        assert "A15" in shown
        assert all(len(line) <= 80 for line in shown.splitlines())
