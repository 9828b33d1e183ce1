"""Names and messages that are markup, escape sequences or wide: shown, never obeyed, never fatal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cockpit.ui.app import CockpitApp
from cockpit.ui.model import Found, Happening
from tests.ui.lab import CHINESE, HOSTILE, WALL, lab, renamed
from tests.ui.model import MemoryModel
from tests.ui.seen import OBEYED, cockpit, screen, until

NAMES = {
    "markup": "[/red][link=https://x]a[/link][0]['b",
    "escapes": HOSTILE,
    "wide": CHINESE * 30,
}
JOURNEYS = (
    (),
    ("G", "d"),
    ("z", "z"),
    ("2", "d"),
    ("2", "G"),
    ("2", "c"),
    ("2", "K", "x", "enter"),
    ("2", "r"),
    ("2", "j", "r"),
    ("2", "n"),
    ("3",),
    ("3", "tab", "tab"),
    ("4",),
    ("question_mark",),
    ("colon",),
    ("colon", "j"),
    ("q",),
)


@pytest.mark.parametrize("keys", JOURNEYS, ids=" ".join)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_foreign_text_is_shown_and_not_obeyed(name: str, keys: tuple[str, ...]) -> None:
    model = MemoryModel(
        renamed(lab(), name),
        engine=name,
        alert=name,
        found=[
            Found(3, name, True, "", 1, WALL, 2),
            Found(2, name, False, name, 1, None, None),
        ],
        history=[Happening(WALL, 1, name)],
    )
    async with cockpit(model, leaving=name) as pilot:
        for key in keys:
            await pilot.press(key)
        await pilot.pause(0.12)
        assert OBEYED.search(screen(pilot.app)) is None


async def test_what_is_printed_after_the_end_is_safe() -> None:
    model = MemoryModel(renamed(lab(), HOSTILE))
    async with cockpit(model) as pilot:
        await pilot.press("q", "enter")
        await until(pilot, lambda: not pilot.app.is_running)
        assert isinstance(pilot.app, CockpitApp)
        assert pilot.app.return_value
        assert OBEYED.search(pilot.app.return_value) is None


async def test_a_message_of_the_engine_is_no_markup() -> None:
    model = MemoryModel(replace(lab(), name="[bold]"), alert="store full [/]")
    async with cockpit(model, 120, 30) as pilot:
        assert "[bold]" in screen(pilot.app)
        assert "store full [/]" in screen(pilot.app)
