"""Themes are data, one TOML file each: ours, and the user's own, which come first."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from cockpit.ui.letters import COLOURS

COLORS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
"""What `[colors]` may name; `primary` it must."""
VARIABLES = tuple(f"job-{number}" for number in range(1, COLOURS + 1))
"""What `[variables]` must name: the colours of jobs."""
DARK, LIGHT = "cockpit-dark", "cockpit-light"


class BadTheme(Exception):
    """A theme file cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Themes:
    """What was found on the disk."""

    loaded: Mapping[str, Theme]
    failed: Mapping[Path, str]
    """File -> why it is not used."""

    @property
    def variables(self) -> Mapping[bool, Mapping[str, str]]:
        """Job colours for themes that name none, by whether they are dark."""
        return {True: self.loaded[DARK].variables, False: self.loaded[LIGHT].variables}


def directories() -> tuple[Path, ...]:
    """The package's own themes (beside the package in a source tree), then the user's."""
    package = Path(__file__).parents[1]
    ours = package / "themes"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return (ours if ours.is_dir() else package.parent / "themes", config / "cockpit" / "themes")


def load(places: Iterable[Path]) -> Themes:
    """Every `*.toml` in the directories; a later theme replaces an earlier one of its name."""
    loaded: dict[str, Theme] = {}
    failed: dict[Path, str] = {}
    for path in (path for place in places for path in sorted(place.glob("*.toml"))):
        try:
            theme = parse(path.read_text("utf-8"))
        except (BadTheme, OSError, UnicodeDecodeError) as error:
            failed[path] = str(error)
        else:
            loaded[theme.name] = theme
    return Themes(loaded, failed)


def parse(text: str) -> Theme:
    """One theme file. Raises BadTheme."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadTheme(f"not TOML: {error}") from error
    name, dark = data.pop("name", None), data.pop("dark", True)
    if not isinstance(name, str) or not name or not isinstance(dark, bool):
        raise BadTheme('needs `name = "..."`, and `dark` is true or false')
    colors = _colours(data.pop("colors", {}), "colors", COLORS, ("primary",))
    variables = _colours(data.pop("variables", {}), "variables", VARIABLES, VARIABLES)
    if data:
        raise BadTheme(f"does not know `{next(iter(data))}`; use name, dark, colors and variables")
    return Theme(name=name, dark=dark, variables=variables, **colors)


def _colours(table: Any, where: str, known: Iterable[str], needed: Iterable[str]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise BadTheme(f"`{where}` must be a table")
    if missing := [key for key in needed if key not in table]:
        raise BadTheme(f"[{where}] lacks {', '.join(missing)}")
    for key, value in table.items():
        if key not in known:
            raise BadTheme(f"[{where}] does not know `{key}`; use {', '.join(known)}")
        try:
            Color.parse(value)
        except (ColorParseError, TypeError, AttributeError) as error:
            raise BadTheme(f'[{where}] {key}: {value!r} is not a colour like "#6cb6ff"') from error
    return dict(table)
