"""What a researcher asks for: a command, its shape and its surroundings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class BadRequest(Exception):
    """What was asked cannot be run; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """One job as it was submitted; never changes after."""

    run: str
    """ULID made by the submitter: unique over laptops and users; what nodes know."""
    argv: tuple[str, ...]
    """The command as typed."""
    name: str
    user: str = ""
    nodes: int = 1
    gpus: int = 1
    """GPUs a node, or CPU slots where there are none; one rank on each."""
    workdir: str | None = None
    """Absolute path on the nodes; the inventory's, if None."""
    submitted_from: str | None = None
    """Where it was submitted: the work directory where nothing else names one."""
    env: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    """Interpreter for the job; the inventory's, else python3, if None."""
    venv: str | None = None
    """Virtual environment on the nodes that is activated first."""
    setup: tuple[str, ...] = ()
    """Lines that bash runs on the node before the command."""
    checkpoint_dir: str | None = None
    """Absolute path on the nodes; one of the run's own, if None."""
    grace_s: int = 30
    """Seconds between SIGTERM and SIGKILL when it is cancelled."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def shape(self) -> str:
        return f"{self.nodes}x{self.gpus}"


def check(request: Request) -> None:
    """Raises BadRequest with the first thing that is wrong."""
    if not request.argv or not request.argv[0]:
        raise BadRequest("there is no command; write it after `--`, as in `-- train.py --lr 3e-4`")
    if not NAME.fullmatch(request.name):
        raise BadRequest(
            f"job name {request.name!r}: use 1 to 64 of letters, digits, `.`, `_` and `-`, "
            "not beginning with `.` or `-`"
        )
    if not 1 <= request.nodes <= 1024 or not 1 <= request.gpus <= 1024:
        raise BadRequest(f"{request.shape}: nodes and GPUs a node must be between 1 and 1024")
    if not 0 <= request.grace_s <= 86400:
        raise BadRequest(f"a grace of {request.grace_s} s: give 0 to 86400 seconds")
    for path in (request.workdir, request.submitted_from, request.checkpoint_dir, request.venv):
        if path is not None and not is_path(path):
            raise BadRequest(f"{path!r} must be an absolute path on the nodes, on one line")
    for key, value in request.env.items():
        if not VARIABLE.fullmatch(key) or "\0" in value:
            raise BadRequest(f"{key!r} is not the name of an environment variable")
    if any("\0" in word for word in (*request.argv, *request.setup)):
        raise BadRequest("a command cannot hold a NUL byte")


def is_path(text: str) -> bool:
    """Whether a node can be told it: absolute, and on one line."""
    return text.startswith("/") and not any(odd in text for odd in "\0\n\r")
