"""Figures of a training run in a few characters."""

from __future__ import annotations

import math


def short(value: float) -> str:
    """About four digits and never more than nine characters: `2.113`, `128k`, `3.1e-05`, `nan`."""
    size = abs(value)
    if not math.isfinite(value):
        return str(value)
    if size == 0:
        return "0"
    if size < 1e-3 or size >= 999.95e12:
        return f"{value:.1e}"
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit * 0.99995:
            return f"{_four(value / (1e3 if unit == 'k' else limit))}{unit}"
    return _four(value)


def whole(count: int) -> str:
    """With commas: `41,200`."""
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 node`, `2 nodes`, `41,200 lines`; `plural` where an s is not enough."""
    return f"{whole(count)} {noun if count == 1 else plural or noun + 's'}"


def _four(value: float) -> str:
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
