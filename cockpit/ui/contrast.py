"""Colours of any theme as text that can be read: what is too pale or too dark is moved until it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.color import Color, ColorParseError

from cockpit.ui.themes import VARIABLES

LEAST = 4.5
"""Contrast of text that WCAG 2 asks for (AA)."""
GROUNDS = ("background", "surface", "panel")
INKS = ("primary", "secondary", "accent", "success", "warning", "error", *VARIABLES)
STEPS = 20


def legible(variables: Mapping[str, str]) -> dict[str, str]:
    """The same variables, those of text with enough contrast on every ground.

    A terminal's own colours (ANSI) are left: what they look like is not known here.
    """
    grounds = [_parsed(variables.get(name, "")) for name in GROUNDS]
    known = [ground for ground in grounds if ground is not None]
    if len(known) < len(GROUNDS):
        return dict(variables)
    inks = {name: _parsed(variables.get(name, "")) for name in INKS}
    moved = {name: _moved(ink, known).hex for name, ink in inks.items() if ink is not None}
    return {**variables, **moved}


def contrast(ink: Color, ground: Color) -> float:
    """1 to 21, by WCAG 2."""
    light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _moved(ink: Color, grounds: Sequence[Color]) -> Color:
    """Towards black or white, whichever the first ground asks for, as little as is enough."""
    end = grounds[0].get_contrast_text(1.0)
    steps = (ink.blend(end, step / STEPS) for step in range(STEPS + 1))
    return next((one for one in steps if min(contrast(one, on) for on in grounds) >= LEAST), end)


def _parsed(text: str) -> Color | None:
    try:
        color = Color.parse(text)
    except ColorParseError:
        return None
    return None if color.ansi is not None else color
