"""Processor, memory, load, disks and network of this node, from /proc."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Mapping, NamedTuple

Figures = Dict[str, Any]


class _Counters(NamedTuple):
    """Counters of which two readings make a rate."""

    at: float
    """Monotonic seconds."""
    busy: int
    total: int
    received: int
    sent: int


class HostProbe:
    """Remembers the counters of the last reading."""

    def __init__(self) -> None:
        self._before: _Counters | None = None

    def read(self) -> Figures:
        """The host's part of a reading; the first has no rates yet."""
        now = _counters()
        before, self._before = self._before, now
        used = received = sent = None
        if before is not None:
            used = _ratio(100 * (now.busy - before.busy), now.total - before.total)
            received = _ratio(now.received - before.received, now.at - before.at)
            sent = _ratio(now.sent - before.sent, now.at - before.at)
        memory = _memory()
        return {
            "uptime_s": float(_read("/proc/uptime").split()[0]),
            "cpu": {"used_pct": used, "cores": len(os.sched_getaffinity(0))},
            "load": [float(word) for word in _read("/proc/loadavg").split()[:3]],
            "memory": memory,
            "network": {"received_bytes_per_s": received, "sent_bytes_per_s": sent},
        }


def disks(paths: list[str]) -> list[Figures]:
    """Size and room of the file systems that hold `paths`, each once; may hang on a dead mount."""
    seen: dict[int, Figures] = {}
    for path in paths:
        try:
            device = os.stat(path).st_dev
            held = os.statvfs(path)
        except OSError:
            continue
        figures = {
            "path": path,
            "total_bytes": held.f_blocks * held.f_frsize,
            "free_bytes": held.f_bavail * held.f_frsize,
        }
        seen.setdefault(device, figures)
    return list(seen.values())


def unknown() -> Figures:
    """A host that could not be read: nothing is 0."""
    return {
        "uptime_s": None,
        "cpu": {"used_pct": None, "cores": None},
        "load": [None, None, None],
        "memory": {"total_bytes": None, "used_bytes": None},
        "network": {"received_bytes_per_s": None, "sent_bytes_per_s": None},
    }


def _counters() -> _Counters:
    ticks = [int(word) for word in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    links = _links()
    received = sum(link[0] for link in links.values())
    sent = sum(link[8] for link in links.values())
    return _Counters(time.monotonic(), sum(ticks) - idle, sum(ticks), received, sent)


def _links() -> Mapping[str, list[int]]:
    """Counters of the network cards; of every link but loopback where there is no card."""
    rows = [line.partition(":") for line in _read("/proc/net/dev").splitlines()[2:]]
    links = {name.strip(): [int(word) for word in words.split()] for name, _, words in rows}
    links.pop("lo", None)
    cards = {
        name: row for name, row in links.items() if os.path.exists(f"/sys/class/net/{name}/device")
    }
    return cards or links


def _memory() -> Figures:
    rows = (line.split(":") for line in _read("/proc/meminfo").splitlines())
    sizes = {name: int(words.split()[0]) * 1024 for name, words in rows}
    total, available = sizes["MemTotal"], sizes.get("MemAvailable")
    return {
        "total_bytes": total,
        "used_bytes": None if available is None else total - available,
    }


def _ratio(count: float, over: float) -> float | None:
    return round(max(0.0, count / over), 1) if over > 0 else None


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
