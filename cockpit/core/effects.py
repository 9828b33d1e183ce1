"""Things the core asks for, named as orders. The engine carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cockpit.core.events import Try


@dataclass(frozen=True, slots=True)
class Prepare:
    of: Try
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Go:
    of: Try
    port: int | None


@dataclass(frozen=True, slots=True)
class Confirm:
    of: Try


@dataclass(frozen=True, slots=True)
class Abort:
    of: Try


@dataclass(frozen=True, slots=True)
class Stop:
    run: str
    attempt: int
    node: str
    grace_s: int
    reason: str


@dataclass(frozen=True, slots=True)
class ListCheckpoints:
    run: str
    node: str
    directory: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line of history for people."""

    job: int | None
    text: str


Effect = Prepare | Go | Confirm | Abort | Stop | ListCheckpoints | Note
