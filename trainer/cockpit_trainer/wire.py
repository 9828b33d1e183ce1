"""What a training process says so that others can read it: metric lines and checkpoint manifests.

A metric line is one line of stdout, in ASCII; other text, such as a progress bar, may stand before it::

    [cockpit] {"v":1,"kind":"metrics","step":120,"time":1700000000.5,"values":{"loss":2.1}}
    [cockpit] {"v":1,"kind":"checkpoint","step":40,"path":"/data/step-00000040"}
    [cockpit] {"v":1,"kind":"phase","name":"saving","detail":"step 40"}

Values that are not finite travel as the words "nan", "inf" and "-inf". This is version 1: a reader
skips lines of any other. Standard library only, Python 3.9.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Union

from cockpit_trainer import fields
from cockpit_trainer.manifest import (
    CHECKPOINT_NAME,
    MANIFEST_NAME,
    TEMPORARY_NAME,
    FileRecord,
    Manifest,
    ManifestError,
    complete_checkpoints,
    read_manifest,
)

__all__ = [
    "CHECKPOINT_NAME",
    "LINE_LIMIT",
    "LINE_VERSION",
    "MANIFEST_NAME",
    "MARKER",
    "TEMPORARY_NAME",
    "CheckpointSaved",
    "FileRecord",
    "Line",
    "Manifest",
    "ManifestError",
    "Metrics",
    "Phase",
    "complete_checkpoints",
    "format_line",
    "parse_line",
    "read_manifest",
]

LINE_VERSION = 1
"""Raised when an old reader would misread a new writer."""
LINE_LIMIT = 64 * 1024
"""Longest text that is written as a metric line or searched for one, in characters."""
MARKER = "[cockpit] "

_MARKERS_TRIED = 8


@dataclass(frozen=True)
class Metrics:
    """Figures of one training step."""

    step: int
    """Steps done when these were measured."""
    time: float
    """Unix seconds on the clock of the node."""
    values: Mapping[str, float]


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint became complete."""

    step: int
    """Steps done, and where a run resumed from it goes on."""
    path: str
    """Absolute, on the node of rank 0."""


@dataclass(frozen=True)
class Phase:
    """What a process began to do; it lasts until the process's next line."""

    name: str
    detail: str = ""


Line = Union[Metrics, CheckpointSaved, Phase]


def format_line(line: Line) -> str:
    """The text to print, without the end of the line."""
    body: dict[str, Any] = {"v": LINE_VERSION}
    if isinstance(line, Metrics):
        values = {name: _as_json(float(value)) for name, value in line.values.items()}
        body.update(kind="metrics", step=line.step, time=line.time, values=values)
    elif isinstance(line, CheckpointSaved):
        body.update(kind="checkpoint", step=line.step, path=line.path)
    else:
        body.update(kind="phase", name=line.name, detail=line.detail)
    text = MARKER + json.dumps(body, separators=(",", ":"), allow_nan=False)
    if len(text) > LINE_LIMIT:
        raise ValueError(
            f"a metric line of {len(text)} characters is over the limit of {LINE_LIMIT}; "
            "log fewer values a line"
        )
    return text


def parse_line(text: str) -> Line | None:
    """What a line of output says, or None; it never raises, whatever the text."""
    if len(text) > LINE_LIMIT:
        return None
    start = text.find(MARKER)
    for _ in range(_MARKERS_TRIED):
        if start < 0:
            return None
        try:
            body, _end = json.JSONDecoder().raw_decode(text, start + len(MARKER))
            return _read_body(body)
        except fields.MALFORMED:
            start = text.find(MARKER, start + 1)
    return None


def _as_json(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _read_body(body: dict[str, Any]) -> Line:
    if fields.whole(body["v"]) != LINE_VERSION:
        raise ValueError("another version")
    kind = body["kind"]
    if kind == "metrics":
        values = {fields.text(name): fields.number(v) for name, v in body["values"].items()}
        return Metrics(fields.count(body["step"]), fields.finite(body["time"]), values)
    if kind == "checkpoint":
        return CheckpointSaved(fields.count(body["step"]), fields.text(body["path"]))
    if kind == "phase":
        return Phase(fields.text(body["name"]), fields.text(body["detail"]))
    raise ValueError("another kind")
