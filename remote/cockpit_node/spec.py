"""What a node is asked to run, checked field by field before anything is made of it."""

from __future__ import annotations

import math
import os
import re
from typing import Any, Mapping, NamedTuple

from cockpit_node.leases import valid_unit
from cockpit_node.paths import BadPath, RunPaths
from cockpit_node.refused import Refused

VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_TEXT_LIMIT = 128 * 1024
"""Characters; the kernel takes no longer argument or variable."""
_ITEMS_LIMIT = 4096


class Resume(NamedTuple):
    """The checkpoint that this attempt goes on from."""

    path: str
    step: int


class Spec(NamedTuple):
    """One attempt of a job, as far as one node runs it. docs/protocol.md, "Spec"."""

    run: str
    attempt: int
    claim: str
    """Id of this try to start the attempt; a try that was undone leaves the attempt to the next."""
    node: str
    node_rank: int
    nnodes: int
    nproc: int
    name: str
    user: str
    launcher: str
    """torchrun or plain."""
    argv: tuple[str, ...]
    port_at: int | None
    """Which word of argv becomes the port."""
    setup: str
    env: Mapping[str, str]
    workdir: str
    script: str | None
    program: str | None
    units: tuple[str, ...]
    cuda_devices: str
    checkpoint_dir: str | None
    resume: Resume | None
    grace_s: float
    confirm_s: float

    @property
    def marker(self) -> str:
        """The value of COCKPIT_RUN in every process of this attempt on this node."""
        return f"{self.run}/{self.attempt}/{self.node}"

    @property
    def has_setup(self) -> bool:
        return bool(self.setup.strip())

    @property
    def is_torchrun(self) -> bool:
        return self.launcher == "torchrun"

    @property
    def holds_port(self) -> bool:
        """Whether this node picks the port that the ranks of all nodes meet at."""
        return self.is_torchrun and self.node_rank == 0

    def checkpoints(self, paths: RunPaths) -> str:
        """Where the job saves."""
        return self.checkpoint_dir or paths.checkpoints


def parse(record: object) -> Spec:
    """The spec in `record`; raises Refused BadSpec on anything that is not exactly one."""
    try:
        return _parse(record)
    except (_Bad, BadPath) as error:
        message = f"this is no job that a node can run: {error}"
        raise Refused("BadSpec", message) from error


def stand_in(paths: RunPaths) -> Spec:
    """What its place still tells of a run whose spec is unreadable: enough to watch and end it.

    It names no program, so that nothing can be started by it.
    """
    return Spec(
        run=paths.run,
        attempt=paths.attempt,
        claim="unknown",
        node=paths.node,
        node_rank=0,
        nnodes=1,
        nproc=1,
        name="unknown",
        user="unknown",
        launcher="plain",
        argv=(),
        port_at=None,
        setup="",
        env={},
        workdir="/",
        script=None,
        program=None,
        units=(),
        cuda_devices="",
        checkpoint_dir=None,
        resume=None,
        grace_s=30.0,
        confirm_s=60.0,
    )


class _Bad(Exception):
    """A field that is not what it must be."""


def _parse(record: object) -> Spec:
    if not isinstance(record, dict):
        raise _Bad("it is not an object")
    fields = dict(record)
    version = fields.pop("version", None)
    if version != VERSION:
        raise _Bad(f"its version is {version!r:.40}, this node knows {VERSION}")
    _same_keys(fields)
    RunPaths.of("/", fields["node"], fields["run"], fields["attempt"])
    nnodes = _whole(fields, "nnodes", 1, 65536)
    return Spec(
        run=fields["run"],
        attempt=fields["attempt"],
        claim=_matching(fields, "claim", _NAME),
        node=fields["node"],
        node_rank=_whole(fields, "node_rank", 0, nnodes - 1),
        nnodes=nnodes,
        nproc=_whole(fields, "nproc", 1, 65536),
        name=_matching(fields, "name", _NAME),
        user=_string(fields, "user", filled=True),
        launcher=_one_of(fields, "launcher", ("torchrun", "plain")),
        argv=_argv(fields),
        port_at=_port_at(fields),
        setup=_string(fields, "setup"),
        env=_env(fields["env"]),
        workdir=_absolute(fields, "workdir"),
        script=_string(fields, "script", filled=True) if fields["script"] is not None else None,
        program=_string(fields, "program", filled=True) if fields["program"] is not None else None,
        units=_units(fields["units"]),
        cuda_devices=_string(fields, "cuda_devices"),
        checkpoint_dir=_absolute(fields, "checkpoint_dir") if fields["checkpoint_dir"] else None,
        resume=_resume(fields["resume"]),
        grace_s=_seconds(fields, "grace_s"),
        confirm_s=_seconds(fields, "confirm_s"),
    )


def _same_keys(fields: dict[Any, Any]) -> None:
    for key in fields:
        if key not in Spec._fields:
            raise _Bad(f"it has a field {key!r:.60} that this node does not know")
    for key in Spec._fields:
        if key not in fields:
            raise _Bad(f"it lacks {key}")


def _whole(fields: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = fields[key]
    if type(value) is not int or not low <= value <= high:
        raise _Bad(f"{key} is {value!r:.40}, not a whole number from {low} to {high}")
    return value


def _seconds(fields: Mapping[str, Any], key: str) -> float:
    value = fields[key]
    if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= 86400:
        raise _Bad(f"{key} is {value!r:.40}, not seconds from 0 to 86400")
    return float(value)


def _string(fields: Mapping[str, Any], key: str, filled: bool = False) -> str:
    value = _text(fields[key], key)
    if filled and not value:
        raise _Bad(f"{key} is empty")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _Bad(f"{what} is not a string")
    if "\0" in value or len(value) >= _TEXT_LIMIT:
        raise _Bad(f"{what} holds a NUL or is longer than {_TEXT_LIMIT} characters")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _Bad(f"{what} holds characters that are no text") from None
    return value


def _matching(fields: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    value = _string(fields, key)
    if not pattern.fullmatch(value):
        raise _Bad(f"{key} is {value!r:.80}; take 1 to 64 letters, digits, dots, dashes")
    return value


def _one_of(fields: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = _string(fields, key)
    if value not in allowed:
        raise _Bad(f"{key} is {value!r:.40}, not one of {', '.join(allowed)}")
    return value


def _absolute(fields: Mapping[str, Any], key: str) -> str:
    value = _string(fields, key)
    if not os.path.isabs(value) or "\n" in value:
        raise _Bad(f"{key} is {value!r:.120}, not an absolute path")
    return value


def _argv(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields["argv"]
    if not isinstance(value, list) or not 1 <= len(value) <= _ITEMS_LIMIT:
        raise _Bad(f"argv is not a list of 1 to {_ITEMS_LIMIT} words")
    words = tuple(_text(word, f"argv[{at}]") for at, word in enumerate(value))
    if not words[0]:
        raise _Bad("argv[0] is empty")
    return words


def _port_at(fields: Mapping[str, Any]) -> int | None:
    if fields["port_at"] is None:
        return None
    return _whole(fields, "port_at", 1, len(fields["argv"]) - 1)


def _env(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > _ITEMS_LIMIT:
        raise _Bad(f"env is not an object of at most {_ITEMS_LIMIT} variables")
    for key, text in value.items():
        if not _text(key, "a variable's name") or "=" in key:
            raise _Bad(f"{key!r:.60} is no name of a variable")
        _text(text, f"env {key!r:.60}")
    return value


def _units(value: object) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or len(value) > _ITEMS_LIMIT
        or len(set(map(str, value))) != len(value)
    ):
        raise _Bad("units is not a list of different units")
    for unit in value:
        if not valid_unit(unit):
            raise _Bad(f"{unit!r:.80} is no name of a GPU or slot")
    return tuple(value)


def _resume(value: object) -> Resume | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"path", "step"}:
        raise _Bad("resume is not a path and a step")
    return Resume(_absolute(value, "path"), _whole(value, "step", 0, 2**53))
