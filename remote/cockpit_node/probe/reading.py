"""One reading of a node: host, GPUs, slots and leases, each by the probe that knows it."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any, Callable, Dict, Mapping, NamedTuple

from cockpit_node.probe import host
from cockpit_node.probe.gpus import Gpu, GpuReading
from cockpit_node.probe.sampler import Sampler
from cockpit_node.probe.source import GpuSource
from cockpit_node.refused import Refused
from cockpit_node.wire import MAX_SLOTS, Message

EVERY_S = 1.0
STALE_S = 8.0
"""After this long without an answer the figures of GPUs are unknown; only their names stay."""

Lease = Dict[str, Any]


class Setting(NamedTuple):
    """What the operator said of this node."""

    node: str
    slots: int | None
    disks: list[str]
    """Paths whose file systems are watched."""


class Leased(NamedTuple):
    """Who holds the units of this node."""

    rows: list[Lease]
    trouble: str | None = None
    """Why nobody can tell, and no unit can be taken."""


class Readings:
    """All probes of a node; each runs in a thread of its own."""

    def __init__(self, setting: Setting, holders: Callable[[list[str]], list[Lease]]) -> None:
        self._setting = setting
        self._holders = holders
        """The leases of the units named, as in a reading."""
        self._numbers = itertools.count(1)
        self._host = Sampler("host", host.HostProbe().read, EVERY_S)
        self._disks = Sampler("disks", lambda: host.disks(setting.disks), 10 * EVERY_S)
        self._leases: Sampler[Leased] = Sampler("leases", self._read_leases, EVERY_S)
        self._gpus: Sampler[GpuReading] = Sampler(
            "gpus", GpuSource(setting.node, self._runs_by_unit).read, EVERY_S
        )
        self._samplers: list[Sampler[Any]] = [self._host, self._disks, self._gpus, self._leases]

    def start(self) -> None:
        for sampler in self._samplers:
            sampler.start()

    def wait(self, timeout_s: float) -> None:
        """Until every probe has answered once, at most `timeout_s` each."""
        for sampler in self._samplers:
            sampler.wait(timeout_s)

    def units(self) -> list[str]:
        """What jobs can lease here: GPUs by uuid, else CPU slots."""
        gpus = self._gpu_reading()
        if gpus.gpus:
            return [str(entry["uuid"]) for entry in gpus.gpus]
        return [f"slot-{number}" for number in range(self._slots(gpus) or 0)]

    def gpu_processes(self) -> dict[str, list[dict[str, Any]]]:
        """The processes on each GPU, by uuid."""
        return {str(entry["uuid"]): entry["processes"] for entry in self._gpu_reading().gpus}

    def read(self) -> Message:
        """The reading that is sent."""
        gpus, leased = self._gpu_reading(), self._leased()
        is_known = self._gpus.value is not None
        if is_known and leased.trouble is not None:
            sick = [_silent(entry, leased.trouble) for entry in gpus.gpus]
            gpus = gpus._replace(gpus=sick, message=leased.trouble)
        return {
            "type": "reading",
            "seq": next(self._numbers),
            "time": time.time(),
            **(self._host.value or host.unknown()),
            "disks": self._disks.value or [],
            "gpus": gpus.gpus if is_known else None,
            "gpu_source": gpus.source,
            "gpu_message": gpus.message,
            "slots": None if leased.trouble is not None else self._slots(gpus),
            "leases": leased.rows,
        }

    def _slots(self, gpus: GpuReading) -> int | None:
        if gpus.gpus or gpus.broken:
            return None
        return min(self._setting.slots or len(os.sched_getaffinity(0)), MAX_SLOTS)

    def _gpu_reading(self) -> GpuReading:
        last, error = self._gpus.value, self._gpus.error
        if last is None:
            return GpuReading("none", [], error or "the GPUs have not answered yet", broken=True)
        if self._gpus.age_s < STALE_S:
            return last
        message = error or f"the GPUs have not answered for {self._gpus.age_s:.0f} s"
        return last._replace(gpus=[_silent(entry, message) for entry in last.gpus], message=message)

    def _leased(self) -> Leased:
        last = self._leases.value
        return last if last is not None else Leased([], self._leases.error or _UNREAD)

    def _read_leases(self) -> Leased:
        # Else the first look would be at no unit, and all would seem free.
        self._gpus.wait(STALE_S)
        try:
            return Leased(self._holders(self.units()))
        except Refused as refused:
            return Leased([], refused.message)
        except OSError as error:
            return Leased([], f"the leases cannot be read: {error.strerror or error}")

    def _runs_by_unit(self) -> Mapping[str, str]:
        return {str(lease["unit"]): str(lease["run"]) for lease in self._leased().rows}


_UNREAD = "nobody has looked yet who holds the units of this node"
_FIGURES = ("used_pct", "memory_used_bytes", "temperature_c", "power_w")


def _silent(entry: Gpu, message: str) -> Gpu:
    """A GPU that no longer answers: still there, its figures unknown."""
    return {**entry, **dict.fromkeys(_FIGURES), "error": message}
