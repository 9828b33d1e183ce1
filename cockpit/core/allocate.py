"""Which units a job gets, all or none, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cockpit.core.cluster import Cluster, LinkState, Node, Unit
from cockpit.core.figures import counted
from cockpit.core.jobs import Part
from cockpit.core.request import Request

COMING_S = 30.0
"""Seconds that a node may take to connect and to be read before the queue stops waiting for it."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a job cannot start now."""

    reason: str
    blocks: bool
    """Jobs behind it must wait too: it would fit as soon as running ones end."""
    never: bool = False
    """Not even an empty cluster has room."""


def allocate(
    cluster: Cluster,
    request: Request,
    home: str | None = None,
    prefer: Sequence[str] = (),
) -> tuple[Part, ...] | Shortage:
    """Units on `request.nodes` nodes, `request.gpus` on each, or the reason why not.

    `home` must be the node of rank 0 (a checkpoint lies there); `prefer` are nodes to take first.
    """
    if home is not None and not _is_up(cluster, home):
        reason = f"NodeDown: {home} holds its checkpoint and {_why(cluster, home)}"
        return Shortage(reason, blocks=_is_coming(cluster, home))
    free = {node.name: _free(cluster, node) for node in cluster.nodes.values()}
    fitting = [name for name, units in free.items() if len(units) >= request.gpus]
    if len(fitting) >= request.nodes and (home is None or home in fitting):
        names = _choose(list(cluster.nodes), fitting, free, request, home, prefer)
        return tuple(
            _part(rank, name, free[name][: request.gpus]) for rank, name in enumerate(names)
        )
    return _shortage(cluster, request, free, home)


def sketch(
    cluster: Cluster, request: Request, home: str | None = None, prefer: Sequence[str] = ()
) -> tuple[Part, ...]:
    """Where it would go: now if it fits, else on the nodes that are large enough."""
    placed = allocate(cluster, request, home, prefer)
    if isinstance(placed, tuple):
        return placed
    sizes = {node.name: list(node.units) for node in cluster.nodes.values()}
    large = [name for name, units in sizes.items() if len(units) >= request.gpus]
    enough = large if len(large) >= request.nodes else list(sizes)
    names = _choose(list(sizes), enough, sizes, request, home, prefer)
    return tuple(_part(rank, name, sizes[name][: request.gpus]) for rank, name in enumerate(names))


def occupied(cluster: Cluster, node: Node) -> Mapping[str, str]:
    """Unit -> who or what keeps it from being allocated, in words."""
    return {**_strangers(cluster, node), **_held(cluster, node)}


def _held(cluster: Cluster, node: Node) -> Mapping[str, str]:
    """Units of our own jobs, which become free when those end."""
    return {
        unit: f"job {job.id}"
        for job in cluster.jobs.values()
        if job.state.holds_units
        for part in job.parts
        if part.node == node.name
        for unit in part.units
    }


def _strangers(cluster: Cluster, node: Node) -> Mapping[str, str]:
    """Units that are in use or sick, whatever our own jobs do."""
    taken: dict[str, str] = {}
    ours = {job.run for job in cluster.jobs.values()}
    for lease in node.reading.leases if node.reading else ():
        if lease.run not in ours:
            taken[lease.unit] = f"{lease.user or 'someone'}'s cockpit ({lease.name or lease.run})"
    for unit in node.units:
        if unit.gpu and (words := _gpu_trouble(unit, ours)):
            taken.setdefault(unit.id, words)
    return taken


def _gpu_trouble(unit: Unit, ours: set[str]) -> str:
    assert unit.gpu is not None
    if unit.gpu.error:
        return f"sick: {unit.gpu.error}"
    for process in unit.gpu.processes:
        if process.run is None:
            return f"{process.user or 'someone'} (pid {process.pid})"
        if process.run.partition("/")[0] not in ours:
            return f"{process.user or 'someone'}'s cockpit job (pid {process.pid})"
    return ""


def _free(cluster: Cluster, node: Node) -> list[Unit]:
    if not node.is_up:
        return []
    taken = occupied(cluster, node)
    return [unit for unit in node.units if unit.id not in taken]


def _choose(
    order: list[str],
    fitting: list[str],
    free: Mapping[str, list[Unit]],
    request: Request,
    home: str | None,
    prefer: Sequence[str],
) -> list[str]:
    """The tightest nodes first, so that whole nodes stay whole; ranks follow the inventory."""

    def tightness(name: str) -> tuple[bool, bool, int, int]:
        return name != home, name not in prefer, len(free[name]), order.index(name)

    chosen = sorted(fitting, key=tightness)[: request.nodes]
    return sorted(chosen, key=lambda name: (name != home, order.index(name)))


def _part(rank: int, node: str, units: Sequence[Unit]) -> Part:
    return Part(node, rank, tuple(u.id for u in units), tuple(u.index for u in units))


def _shortage(
    cluster: Cluster, request: Request, free: Mapping[str, list[Unit]], home: str | None
) -> Shortage:
    kind = _kind(cluster)
    sizes = {node.name: len(node.units) for node in cluster.nodes.values()}
    reachable = {name for name in sizes if _is_up(cluster, name)}
    possible = [name for name, size in sizes.items() if size >= request.gpus]
    known = all(node.units for node in cluster.nodes.values())
    if known and len(possible) < request.nodes:
        return Shortage(never_fits(request, sizes, kind), blocks=False, never=True)
    if len([name for name in possible if name in reachable]) < request.nodes:
        down = [f"{name} {_why(cluster, name)}" for name in sizes if name not in reachable]
        coming = any(_is_coming(cluster, name) for name in sizes)
        if coming:
            return Shortage(f"Connecting: {len(reachable)}/{len(sizes)} nodes are up", blocks=True)
        return Shortage(f"NodeDown: needs {request.shape}; {'; '.join(down)}", blocks=False)
    counts = [len(units) for name, units in free.items() if name in reachable]
    some = " + ".join(f"1x{count}" for count in sorted(counts, reverse=True) if count)
    reason = f"Resources: needs {request.shape} {kind}s, free {some or 'none'}{_takers(cluster)}"
    reason = f"{reason}; {home} must have room" if home else reason
    return Shortage(reason, blocks=_has_room_later(cluster, request, home))


def _has_room_later(cluster: Cluster, request: Request, home: str | None) -> bool:
    """Whether it would fit once our own jobs end, with strangers and sick GPUs as they are."""
    roomy: set[str] = set()
    for node in cluster.nodes.values():
        strangers = _strangers(cluster, node)
        ours = [unit for unit in node.units if unit.id not in strangers]
        if node.is_up and len(ours) >= request.gpus:
            roomy.add(node.name)
    return len(roomy) >= request.nodes and (home is None or home in roomy)


def never_fits(request: Request, sizes: Mapping[str, int], kind: str) -> str:
    """The sentence for a shape that no empty cluster has; `sizes` is units by node."""
    possible = sum(size >= request.gpus for size in sizes.values())
    largest = max(sizes.values(), default=0)
    whole = sum(size == largest for size in sizes.values())
    return (
        f"NeverFits: needs {counted(request.nodes, 'node')} with {counted(request.gpus, kind)} each, "
        f"the cluster has {possible}; ask for less: {whole}x{largest} is all it has"
    )


def _kind(cluster: Cluster) -> str:
    has_gpu = any(unit.gpu for node in cluster.nodes.values() for unit in node.units)
    return "GPU" if has_gpu else "slot"


def _takers(cluster: Cluster) -> str:
    """Who, other than our own jobs, holds units; two names at most."""
    words = [
        f"{who} on {node.name}"
        for node in cluster.nodes.values()
        for unit, who in _strangers(cluster, node).items()
        if unit not in _held(cluster, node)
    ]
    more = f" and {len(words) - 2} more" if len(words) > 2 else ""
    return f" (taken by {', '.join(words[:2])}{more})" if words else ""


def _is_up(cluster: Cluster, name: str) -> bool:
    node = cluster.nodes.get(name)
    return node is not None and node.is_up


def _is_coming(cluster: Cluster, name: str) -> bool:
    """Nobody may overtake a job only because its nodes answer later than others at the start."""
    node = cluster.nodes.get(name)
    if node is None or node.is_up or node.link not in (LinkState.CONNECTING, LinkState.UP):
        return False
    return cluster.now.mono - node.changed.mono < COMING_S


def _why(cluster: Cluster, name: str) -> str:
    node = cluster.nodes.get(name)
    if node is None:
        return "is not in the inventory any more"
    words = {
        LinkState.CONNECTING: "is being connected",
        LinkState.UP: "sent no reading yet",
        LinkState.UNREACHABLE: "does not answer",
        LinkState.REFUSED: "needs you: " + (node.error or "refused"),
    }
    return words[node.link]
