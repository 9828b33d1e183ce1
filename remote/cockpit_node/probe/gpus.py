"""What a GPU source gives, and which source this node has."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple

from cockpit_node.identity import user_name

Gpu = Dict[str, Any]
"""One entry of a reading's `gpus` (docs/protocol.md)."""


class GpuReading(NamedTuple):
    """Every GPU of the node, once."""

    source: str
    """`nvml`, `nvidia-smi`, `simulated` or `none`."""
    gpus: list[Gpu]
    message: str | None = None
    """Why there are no figures."""
    broken: bool = False
    """True where the node has GPUs that cannot be read: it then offers no CPU slots either."""


def gpu(uuid: str, index: int, name: str, **figures: Any) -> Gpu:
    """One GPU; a figure that is not given is unknown."""
    known: Mapping[str, Any] = {
        "simulated": False,
        "used_pct": None,
        "memory_used_bytes": None,
        "memory_total_bytes": None,
        "temperature_c": None,
        "power_w": None,
        "power_limit_w": None,
        "processes": [],
        "error": None,
    }
    return {"uuid": uuid, "index": index, "name": name, **known, **figures}


def process(pid: int, memory_bytes: int | None) -> dict[str, Any]:
    """One process on a GPU: whose it is, and of which run if any."""
    return {"pid": pid, "user": _user(pid), "memory_bytes": memory_bytes, "run": _run(pid)}


def _user(pid: int) -> str | None:
    try:
        return user_name(os.stat(f"/proc/{pid}").st_uid)
    except OSError:
        return None


def _run(pid: int) -> str | None:
    """The COCKPIT_RUN of a process; None also where it is another user's and cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read(1 << 20).split(b"\0")
    except OSError:
        return None
    mark = b"COCKPIT_RUN="
    found = next((word for word in words if word.startswith(mark)), None)
    return None if found is None else found[len(mark) :].decode("utf-8", "replace")
