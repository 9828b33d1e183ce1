"""How a command speaks: lines or JSON on stdout, troubles on stderr in one sentence."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from cockpit.config import ConfigError
from cockpit.core.request import BadRequest
from cockpit.core.text import visible
from cockpit.engine.paths import StateError
from cockpit.engine.store import StoreError

USAGE = 2
"""Exit status of the cockpit's own troubles."""
NO_CONNECTION = 255


class Failure(Exception):
    """The command cannot be carried out; the text says why and what to do."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status


TROUBLES = (
    click.ClickException,
    Failure,
    ConfigError,
    StateError,
    StoreError,
    BadRequest,
    sqlite3.Error,
    OSError,
)
"""What a command may meet; anything else is a fault of the cockpit and shows its traceback."""


def wants_json(words: Sequence[str]) -> bool:
    """Whether `--json` stands before the command of a job."""
    own = words[: words.index("--")] if "--" in words else words
    return "--json" in own


def put(text: str = "") -> None:
    """One line on stdout; foreign text is made safe to show."""
    click.echo(visible(text))


def put_raw(text: str) -> None:
    """One line on stdout that was made safe already."""
    click.echo(text)


def put_json(record: Any) -> None:
    """One record a line; odd floats travel as null."""
    click.echo(json.dumps(_finite(record)))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not -1e308 < value < 1e308:
        return None
    return value


def note(text: str) -> None:
    """Lines on stderr, beside the answer."""
    for line in text.splitlines():
        click.echo(visible(line), err=True)


def fail_from(error: Exception, as_json: bool) -> NoReturn:
    """Exit with what went wrong, as one sentence or one JSON object."""
    status, message = _troubles(error)
    try:
        if as_json:
            put_json({"error": message})
        else:
            note(f"cockpit: {message}")
    except OSError:
        os._exit(status)  # Nobody can be told; Python would try once more at its exit.
    sys.exit(status)


def _troubles(error: Exception) -> tuple[int, str]:
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f" See `{context.command_path} --help`." if context else ""
        return USAGE, f"{error.format_message()}{hint}"
    if isinstance(error, sqlite3.Error):
        return USAGE, f"the store cannot be used ({error}); is the disk full?"
    return error.status if isinstance(error, Failure) else USAGE, str(error)
