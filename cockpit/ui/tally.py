"""The figures of the top line: real GPUs, simulated ones and CPU slots, never summed together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.core.cluster import Cluster, LinkState, Node
from cockpit.core.figures import counted
from cockpit.core.text import visible
from cockpit.ui.standing import Holder, Standing, is_stale, own_runs, places, standings


@dataclass(frozen=True, slots=True)
class Count:
    """How many units of one kind are in which hands; each is in one."""

    kind: str
    """`GPU`, `simulated GPU` or `CPU slot`."""
    total: int = 0
    busy: int = 0
    idle: int = 0
    """Held by a job that computes nothing on them."""
    others: int = 0
    free: int = 0
    sick: int = 0
    unknown: int = 0
    """On nodes that do not answer."""
    power_w: float | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Most telling first; what is zero is left out, but for `free`."""
        parts = [counted(self.total, self.kind)]
        parts += [f"{self.busy} busy"] if self.busy else []
        parts += [f"{self.idle} held idle"] if self.idle else []
        parts += [f"{self.others} others'"] if self.others else []
        parts += [f"{self.free} free"]
        parts += [f"{self.sick} sick"] if self.sick else []
        parts += [f"{self.unknown} unknown"] if self.unknown else []
        parts += [f"{self.power_w / 1000:.1f} kW"] if self.power_w else []
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class Tally:
    """What is there and what is wrong with it."""

    up: int
    nodes: int
    counts: tuple[Count, ...]
    alerts: tuple[str, ...]
    """What needs a look, safe to show, worst first."""


def tally(cluster: Cluster, alert: str = "") -> Tally:
    """Count every unit once; `alert` is the engine's own."""
    held, runs = places(cluster.jobs), own_runs(cluster.jobs)
    by_kind: dict[str, list[Standing]] = {"GPU": [], "simulated GPU": [], "CPU slot": []}
    for node in cluster.nodes.values():
        here = held.get(node.name, {})
        for standing in standings(node, here, runs, is_stale(cluster, node)):
            by_kind[_kind(standing)].append(standing)
    counts = tuple(_count(kind, found) for kind, found in by_kind.items() if found)
    alerts = [visible(alert)] if alert else []
    for node in cluster.nodes.values():
        alerts += _alerts(node)
    up = sum(node.is_up for node in cluster.nodes.values())
    return Tally(up, len(cluster.nodes), counts, tuple(alerts))


def _kind(standing: Standing) -> str:
    if standing.unit.gpu is None:
        return "CPU slot"
    return "simulated GPU" if standing.unit.gpu.simulated else "GPU"


def _count(kind: str, found: Iterable[Standing]) -> Count:
    fresh = [standing for standing in found if not standing.stale]
    jobs = [standing for standing in fresh if standing.holder is Holder.JOB]
    idle = sum(standing.idles for standing in jobs)
    watts = [s.unit.gpu.power_w for s in fresh if s.unit.gpu and s.unit.gpu.power_w is not None]
    total = sum(1 for _ in found)
    return Count(
        kind,
        total,
        len(jobs) - idle,
        idle,
        sum(standing.holder is Holder.OTHERS for standing in fresh),
        sum(standing.holder is Holder.FREE for standing in fresh),
        sum(standing.holder is Holder.SICK for standing in fresh),
        total - len(fresh),
        sum(watts) if watts and kind == "GPU" else None,
    )


def _alerts(node: Node) -> list[str]:
    name = visible(node.name)
    if node.link is LinkState.REFUSED:
        return [f"{name} needs you: {visible(node.error or 'refused')}"]
    if node.link is LinkState.UNREACHABLE:
        return [f"{name} does not answer"]
    gpus = node.reading.gpus if node.reading else ()
    return [f"{name}:{gpu.index} {visible(gpu.error)}" for gpu in gpus if gpu.error]
