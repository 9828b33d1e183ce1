"""Themes are files: ours all load, a user's replace them, a broken one says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from cockpit.ui.app import CockpitApp
from cockpit.ui.contrast import GROUNDS, INKS, contrast
from cockpit.ui.themes import BadTheme, directories, load, parse
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit

MINE = """
name = "mine"
[colors]
primary = "#123456"
[variables]
""" + "\n".join(f'job-{number} = "#abcde{number}"' for number in range(1, 9))


def test_our_themes_load() -> None:
    found = load(directories()[:1])
    assert not found.failed
    assert {"cockpit-dark", "cockpit-light", "cockpit-safe", "cockpit-mono"} <= set(found.loaded)


def test_a_users_theme_is_loaded_and_a_broken_one_says_why(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "torn.toml").write_text("name = ")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    found = load([tmp_path, tmp_path / "missing"])
    assert set(found.loaded) == {"mine"}
    assert {path.name for path in found.failed} == {"torn.toml", "bytes.toml"}
    assert found.failed[tmp_path / "torn.toml"].startswith("not TOML")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("#123456", "blue-ish"), "is not a colour"),
        (("primary", "prime"), r"lacks primary"),
        (("job-8", "job-9"), "lacks job-8"),
        (('name = "mine"', 'nom = "mine"'), "needs `name"),
        (('name = "mine"', 'name = "mine"\nfont = "x"'), "does not know `font`"),
        (('name = "mine"', 'name = "mine"\ndark = "yes"'), "`dark` is true or false"),
    ],
)
def test_what_is_wrong_with_a_theme_is_said(change: tuple[str, str], reason: str) -> None:
    with pytest.raises(BadTheme, match=reason):
        parse(MINE.replace(*change))


@pytest.mark.parametrize("theme", ["cockpit-light", "cockpit-mono", "nord", "textual-light"])
async def test_the_cockpit_wears_every_theme(theme: str) -> None:
    async with cockpit(MemoryModel(), theme=theme) as pilot:
        await pilot.press("2")
        assert pilot.app.theme == theme
        assert "job-1" in pilot.app.theme_variables


def test_the_colours_of_every_theme_can_be_read_on_its_grounds() -> None:
    app = CockpitApp(MemoryModel())
    for theme in app.available_themes:
        app.theme = theme
        colours = app.get_css_variables()
        if app.current_theme.ansi:
            continue
        for ink in INKS:
            found = [contrast(Color.parse(colours[ink]), Color.parse(colours[g])) for g in GROUNDS]
            assert min(found) >= 4.4, (theme, ink, found)
