"""What a node may send, by type and shape; a node that sends anything else loses its link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cockpit_node.wire import MAX_SLOTS

MAX_INTEGER = 1 << 63


class BadMessage(Exception):
    """A node broke the protocol; the text says how."""


@dataclass(frozen=True, slots=True)
class Maybe:
    """A value that may be null or missing: unknown."""

    shape: Any


@dataclass(frozen=True, slots=True)
class Each:
    """A list of values of one shape."""

    shape: Any


@dataclass(frozen=True, slots=True)
class UpTo:
    """A whole number from 0 to a limit, of which something is made for each."""

    limit: int


FAILURE = {"code": str, "message": str, "retry": bool}
_DISK = {"path": str, "total_bytes": Maybe(int), "free_bytes": Maybe(int)}
_PROCESS = {"pid": int, "user": Maybe(str), "memory_bytes": Maybe(int), "run": Maybe(str)}
_GPU = {
    "uuid": str,
    "index": int,
    "name": str,
    "simulated": bool,
    "used_pct": Maybe(float),
    "memory_used_bytes": Maybe(int),
    "memory_total_bytes": Maybe(int),
    "temperature_c": Maybe(float),
    "power_w": Maybe(float),
    "power_limit_w": Maybe(float),
    "processes": Each(_PROCESS),
    "error": Maybe(str),
}
_LEASE = {
    "unit": str,
    "run": Maybe(str),
    "attempt": Maybe(int),
    "node": Maybe(str),
    "user": Maybe(str),
    "name": Maybe(str),
}
_STREAM = {"name": str, "rank": Maybe(int), "stream": str, "size": Maybe(int)}
_EXIT = {
    "code": Maybe(int),
    "signal": Maybe(str),
    "stopped": bool,
    "reason": Maybe(str),
    "first_failure": Maybe(
        {"rank": Maybe(int), "code": Maybe(int), "signal": Maybe(str), "message": Maybe(str)}
    ),
    "leftovers": Maybe(int),
}

RUN_STATE: Mapping[str, Any] = {
    "run": str,
    "attempt": int,
    "node": str,
    "node_rank": Maybe(int),
    "name": Maybe(str),
    "user": Maybe(str),
    "state": str,
    "message": Maybe(str),
    "beat": Maybe(int),
    "port": Maybe(int),
    "units": Maybe(Each(str)),
    "checkpoint_dir": Maybe(str),
    "streams": Maybe(Each(_STREAM)),
    "processes": Maybe(int),
    "ranks": Maybe(Each({"rank": Maybe(int), "pid": int})),
    "refusal": Maybe(FAILURE),
    "exit": Maybe(_EXIT),
}
_CHECKPOINT = {
    "step": int,
    "path": str,
    "complete": bool,
    "reason": Maybe(str),
    "bytes": Maybe(int),
    "time": Maybe(float),
    "world_size": Maybe(int),
}

REPLIES: Mapping[str, Mapping[str, Any]] = {
    "prepare": {"port": Maybe(int)},
    "signal": {"signalled": Each(Maybe(int)), "without_handler": Each(Maybe(int))},
    "runs": {"runs": Each(RUN_STATE)},
    "look": RUN_STATE,
    "checkpoints": {"checkpoints": Each(_CHECKPOINT), "left_out": Maybe(int)},
}
"""Bodies of replies by verb; all others are empty."""

SHAPES: Mapping[str, Mapping[str, Any]] = {
    "hello": {
        "protocol": int,
        "layout": int,
        "version": str,
        "hostname": str,
        "user": str,
        "uid": int,
        "python": str,
        "pid": int,
        "boot_id": str,
        "state_root": str,
        "address": Maybe(str),
        "interface": Maybe(str),
        "cores": int,
    },
    "reply": {"id": int, "ok": bool, "body": Maybe(dict), "error": Maybe(FAILURE)},
    "reading": {
        "seq": int,
        "time": float,
        "uptime_s": Maybe(float),
        "cpu": {"used_pct": Maybe(float), "cores": Maybe(int)},
        "load": Each(Maybe(float)),
        "memory": {"total_bytes": Maybe(int), "used_bytes": Maybe(int)},
        "disks": Each(_DISK),
        "network": {"received_bytes_per_s": Maybe(float), "sent_bytes_per_s": Maybe(float)},
        "gpus": Maybe(Each(_GPU)),
        "gpu_source": str,
        "gpu_message": Maybe(str),
        "slots": Maybe(UpTo(MAX_SLOTS)),
        "leases": Each(_LEASE),
    },
    "run": RUN_STATE,
    "end": {"stream": int, "offset": int},
    "replaced": {"stream": int, "message": str},
}


def check(message: Mapping[str, Any]) -> str:
    """The type of a message from a node, once its shape is right. Raises BadMessage."""
    kind = message["type"]
    shape = SHAPES.get(kind)
    if shape is None:
        raise BadMessage(f"unknown message {kind[:40]!r}")
    _check(message, shape, kind)
    return str(kind)


def check_reply(verb: str, reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of a reply that says ok. Raises BadMessage."""
    body = reply.get("body") or {}
    _check(body, REPLIES.get(verb, {}), f"the reply to {verb}")
    return body


def _check(value: object, shape: Any, where: str) -> None:
    match shape:
        case Maybe(inner):
            if value is not None:
                _check(value, inner, where)
        case UpTo(limit):
            if not isinstance(value, int) or not (_is(value, int) and 0 <= value <= limit):
                raise BadMessage(f"{where} is not a whole number from 0 to {limit}")
        case Each(inner):
            if not isinstance(value, list):
                raise BadMessage(f"{where} is not a list")
            for item in value:
                _check(item, inner, f"an item of {where}")
        case dict():
            if not isinstance(value, dict):
                raise BadMessage(f"{where} is not an object")
            for key, inner in shape.items():
                _check(value.get(key), inner, f"{where}.{key}")
        case _:
            if not _is(value, shape):
                raise BadMessage(f"{where} is not {_WORDS[shape]}")


_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
}


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int):
        return kind in (int, float) and -MAX_INTEGER < value < MAX_INTEGER
    if isinstance(value, float):
        return kind is float and math.isfinite(value)
    return isinstance(value, kind)
