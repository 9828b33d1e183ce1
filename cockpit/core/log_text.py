"""One line of a log as a person reads it: safe, without colour codes, metric lines in words."""

from __future__ import annotations

import re

from cockpit.core.figures import short, whole
from cockpit.core.text import decoded, visible
from cockpit_trainer.wire import MARKER, CheckpointSaved, Line, Metrics, Phase, parse_line

_COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
_FIRST = ("loss", "lr", "tokens_per_s")
"""Metrics that are said before all others."""


def shown(data: bytes, hidden: int = 0) -> str:
    """A line's bytes as text that may be drawn; `hidden` bytes more are told."""
    text = decoded(_COLOUR.sub(b"", data) if b"\x1b[" in data else data)
    more = f"… +{hidden:,} bytes" if hidden else ""
    return visible(text.expandtabs()) + more


def metric(data: bytes) -> str | None:
    """What a metric line says, in words; None for any other line."""
    if MARKER.encode() not in data:
        return None
    line = parse_line(decoded(data))
    return None if line is None else visible(_words(line))


def _words(line: Line) -> str:
    if isinstance(line, Metrics):
        order = [name for name in _FIRST if name in line.values]
        order += [name for name in line.values if name not in _FIRST]
        return "  ".join(
            [f"step {whole(line.step)}", *(f"{name} {short(line.values[name])}" for name in order)]
        )
    if isinstance(line, CheckpointSaved):
        return f"checkpoint step {whole(line.step)} complete: {line.path}"
    assert isinstance(line, Phase)
    return f"phase {line.name} {line.detail}".rstrip()
