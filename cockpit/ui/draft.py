"""A job as typed into the form, and the request it becomes or what is wrong with it; pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cockpit.core.command import default_name, parse, shape
from cockpit.core.request import BadRequest, Request


@dataclass(frozen=True, slots=True)
class Draft:
    """Every field as the person typed it."""

    command: str = ""
    name: str = ""
    nodes: str = ""
    gpus: str = ""
    workdir: str = ""
    env: str = ""
    python: str = ""
    venv: str = ""
    setup: str = ""
    checkpoint_dir: str = ""
    grace_s: str = "30"
    submitted_from: str = ""
    """Where the job that it is like was submitted; kept, not shown."""

    @property
    def typed(self) -> Mapping[str, str]:
        """What stands in the form, by field."""
        return {field: getattr(self, field) for field in LABELS}


LABELS: Mapping[str, tuple[str, str]] = {
    "command": ("command", "train.py --lr 3e-4"),
    "nodes": ("nodes", "1, or as torchrun's options say"),
    "gpus": ("GPUs a node", "1; CPU slots if there is no GPU"),
    "name": ("name", "the script's, if empty"),
    "workdir": ("workdir", "the inventory's, else this one"),
    "env": ("env", "KEY=value KEY2='with spaces'"),
    "python": ("python", "the inventory's, if empty"),
    "venv": ("venv", "/absolute/path, activated first"),
    "setup": ("setup", "module load cuda; ulimit -n 65536"),
    "checkpoint_dir": ("checkpoints", "a directory of the run's own"),
    "grace_s": ("grace (s)", "30"),
}
"""Field -> label and what stands in it while it is empty, in the order of the form."""

INFERRED = frozenset({"name", "nodes", "gpus"})
"""Fields that the command answers where they are empty."""


def draft_of(request: Request) -> Draft:
    """The form filled from a job."""
    return Draft(
        command=shlex.join(request.argv),
        name=request.name,
        nodes=str(request.nodes),
        gpus=str(request.gpus),
        workdir=request.workdir or "",
        env=" ".join(f"{key}={shlex.quote(value)}" for key, value in request.env.items()),
        python=request.python or "",
        venv=request.venv or "",
        setup="; ".join(request.setup),
        checkpoint_dir=request.checkpoint_dir or "",
        grace_s=str(request.grace_s),
        submitted_from=request.submitted_from or "",
    )


def problems(draft: Draft) -> dict[str, str]:
    """Field -> what is wrong with it and what to write instead."""
    found: dict[str, str] = {}
    parsed = {"argv": ("true",), "name": "job"}
    for field, typed in draft.typed.items():
        try:
            value = _PARSERS[field](typed)
            if field in INFERRED and value in (None, ""):
                continue
            key = "argv" if field == "command" else field
            Request(run="", **{**parsed, key: value})
        except (BadRequest, ValueError) as error:
            found[field] = str(error)
    return found


def request_of(draft: Draft, run: str, user: str = "", here: str | None = None) -> Request:
    """What is asked for, from `here` if not from elsewhere. Raises BadRequest, as `problems` says."""
    try:
        values = {field: _PARSERS[field](typed) for field, typed in draft.typed.items()}
    except ValueError as error:
        raise BadRequest(str(error)) from error
    argv = values.pop("command")
    values["name"] = values["name"] or default_name(argv)
    values["nodes"], values["gpus"] = shape(argv, values["nodes"], values["gpus"])
    origin = draft.submitted_from or here
    return Request(run=run, argv=argv, user=user, submitted_from=origin, **values)


def _command(typed: str) -> tuple[str, ...]:
    if not typed.strip():
        raise ValueError("write what to run, as in: train.py --lr 3e-4")
    words = _words(typed)
    parse(words)
    return words


def _words(typed: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(typed))
    except ValueError as error:
        raise ValueError(f"{error}: close what was opened, or quote it") from error


def _count(typed: str) -> int | None:
    return _number(typed) if typed.strip() else None


def _number(typed: str) -> int:
    if not re.fullmatch(r"\d{1,6}", typed.strip()):
        raise ValueError(f"{typed!r} is not a whole number; write one like 2")
    return int(typed)


def _env(typed: str) -> dict[str, str]:
    pairs = _words(typed)
    if wrong := next((pair for pair in pairs if "=" not in pair), None):
        raise ValueError(f"{wrong!r} has no `=`; write KEY=value")
    return dict(pair.split("=", 1) for pair in pairs)


def _text(typed: str) -> str | None:
    return typed.strip() or None


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "command": _command,
    "name": str.strip,
    "nodes": _count,
    "gpus": _count,
    "workdir": _text,
    "env": _env,
    "python": _text,
    "venv": _text,
    "setup": lambda typed: tuple(line for part in typed.split(";") if (line := part.strip())),
    "checkpoint_dir": _text,
    "grace_s": _number,
}
