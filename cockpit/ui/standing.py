"""Who has each GPU or slot and whether it works: what the map, the top line and the alert say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cockpit.core.cluster import Cluster, LinkState, Node, Unit
from cockpit.core.jobs import Job
from cockpit.core.text import visible
from cockpit.ui.letters import letters

STALE_AFTER_S = 5.0
"""Readings come each second; after five missed ones they are shown as old."""
IDLE_BELOW_PCT = 5.0


class Holder(StrEnum):
    """Who has a unit."""

    JOB = "job"
    FREE = "free"
    OTHERS = "others"
    SICK = "sick"


@dataclass(frozen=True, slots=True)
class Standing:
    """One unit, as the screen shows it."""

    unit: Unit
    holder: Holder
    stale: bool = False
    """The reading is old: true a while ago, unknown now."""
    job: int | None = None
    letter: str = ""
    rank: int | None = None
    user: str = ""
    """Who has it, where that is not a job of this cockpit; safe to show."""

    @property
    def used_pct(self) -> float | None:
        return self.unit.gpu.used_pct if self.unit.gpu else None

    @property
    def tag(self) -> str:
        """Job letter and rank, or the sign of what it is."""
        match self.holder:
            case Holder.JOB:
                return f"{self.letter}{'' if self.rank is None else self.rank}"
            case Holder.OTHERS:
                return f"@{self.user}"
            case Holder.SICK:
                return "▲"
            case Holder.FREE:
                return "·"

    @property
    def idles(self) -> bool:
        """A job holds it and nothing computes on it."""
        used = self.used_pct
        return self.holder is Holder.JOB and used is not None and used < IDLE_BELOW_PCT


@dataclass(frozen=True, slots=True)
class Place:
    """One rank of a job that holds a unit."""

    job: int
    letter: str
    rank: int


Places = Mapping[str, Mapping[str, Place]]
"""Node -> unit -> the rank there."""


def places(jobs: Mapping[int, Job]) -> dict[str, dict[str, Place]]:
    """Where every rank of every job that holds units is."""
    named = letters(jobs)
    found: dict[str, dict[str, Place]] = {}
    for job in jobs.values():
        for part in job.parts if job.state.holds_units else ():
            here = found.setdefault(part.node, {})
            for local, unit in enumerate(part.units):
                rank = part.node_rank * job.request.gpus + local
                here[unit] = Place(job.id, named[job.id], rank)
    return found


def age_s(cluster: Cluster, node: Node) -> float | None:
    """Seconds since the node's last reading; None if there never was one."""
    return None if node.read_at is None else max(0.0, cluster.now.mono - node.read_at.mono)


def is_stale(cluster: Cluster, node: Node) -> bool:
    age = age_s(cluster, node)
    return node.link is not LinkState.UP or age is None or age > STALE_AFTER_S


def standings(
    node: Node, held: Mapping[str, Place], runs: frozenset[str], stale: bool
) -> tuple[Standing, ...]:
    """All units of a node; `held` by its jobs, `runs` are the run ids of this cockpit's own jobs."""
    leases = {lease.unit: lease for lease in node.reading.leases} if node.reading else {}
    found: list[Standing] = []
    for unit in node.units:
        place = held.get(unit.id)
        lease = leases.get(unit.id)
        if place is not None:
            holder = Holder.SICK if unit.gpu and unit.gpu.error else Holder.JOB
            found.append(Standing(unit, holder, stale, place.job, place.letter, place.rank))
        elif unit.gpu and unit.gpu.error:
            found.append(Standing(unit, Holder.SICK, stale))
        elif lease and lease.run not in runs:
            found.append(Standing(unit, Holder.OTHERS, stale, user=visible(lease.user) or "?"))
        elif (user := _stranger(unit, runs)) is not None:
            found.append(Standing(unit, Holder.OTHERS, stale, user=user))
        else:
            found.append(Standing(unit, Holder.FREE, stale))
    return tuple(found)


def _stranger(unit: Unit, runs: frozenset[str]) -> str | None:
    for process in unit.gpu.processes if unit.gpu else ():
        if process.run is None or process.run.partition("/")[0] not in runs:
            return visible(process.user or "?")
    return None


def own_runs(jobs: Mapping[int, Job]) -> frozenset[str]:
    return frozenset(job.run for job in jobs.values())
