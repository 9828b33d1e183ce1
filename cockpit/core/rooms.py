"""Which units of each node may be given away, and who or what keeps the others."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cockpit.core.cluster import Cluster, Lease, LinkState, Node, Unit
from cockpit.core.outlook import Outlook, Room

COMING_S = 30.0
"""Seconds that a node may take to connect and to be read before the queue stops waiting for it."""
GONE = "is not in cockpit.toml any more"

_Held = Mapping[str, Mapping[str, str]]
"""Node -> unit -> which of our jobs holds it."""


def look(cluster: Cluster) -> Outlook:
    """The room on every node; what the last pass worked out is taken over where it still holds."""
    last, roster, held = cluster.outlook, cluster.roster, _held(cluster)
    known = last.rooms if last is not None and last.holding is roster.holding else {}
    rooms = {
        name: known[name]
        if last is not None and name in known and last.nodes.get(name) is node
        else _room(cluster, node, held)
        for name, node in cluster.nodes.items()
    }
    coming = (room.coming_until for room in rooms.values() if room.coming_until > cluster.now.mono)
    until = min(coming, default=math.inf)
    return Outlook(cluster.nodes, roster.holding, rooms, roster.waiting, until=until)


def occupied(cluster: Cluster, node: Node) -> Mapping[str, str]:
    """Unit -> who or what keeps it from being allocated, in words."""
    return {**_strangers(cluster, node), **_held(cluster).get(node.name, {})}


def _room(cluster: Cluster, node: Node, held: _Held) -> Room:
    units, ours = node.units, held.get(node.name, {})
    shown, kind = node.capacity
    size = max(shown, node.most_gpus)
    kind = "gpu" if node.most_gpus else kind
    if not node.is_up:
        return Room(False, _why(node), _coming_until(node), size, shown, kind)
    strangers = _strangers(cluster, node)
    takers = tuple(f"{who} on {node.name}" for unit, who in strangers.items() if unit not in ours)
    free = tuple((u.id, u.index) for u in units if u.id not in strangers and u.id not in ours)
    later = sum(unit.id not in strangers for unit in units)
    return Room(True, "", 0.0, size, shown, kind, free, later, takers)


def _held(cluster: Cluster) -> _Held:
    """Units of our own jobs, which become free when those end."""
    held: dict[str, dict[str, str]] = {}
    for job in cluster.roster.holders():
        for part in job.parts:
            held.setdefault(part.node, {}).update(dict.fromkeys(part.units, f"job {job.id}"))
    return held


def _strangers(cluster: Cluster, node: Node) -> Mapping[str, str]:
    """Units that are in use or sick, whatever our own jobs do."""
    taken: dict[str, str] = {}
    for lease in node.reading.leases if node.reading else ():
        if words := _lessee(cluster, node, lease):
            taken[lease.unit] = words
    for unit in node.units:
        if unit.gpu and (words := _gpu_trouble(cluster, unit)):
            taken.setdefault(unit.id, words)
    return taken


def _lessee(cluster: Cluster, node: Node, lease: Lease) -> str:
    """Who holds a lease, unless it is a job of ours that is known to end."""
    job = cluster.roster.of_run(lease.run)
    if job is None:
        return f"{lease.user or 'someone'}'s cockpit ({lease.name or lease.run})"
    part = job.part(node.name)
    is_lost = part is not None and part.exit is not None and part.exit.lost
    return f"what is left of job {job.id}" if is_lost else ""


def _gpu_trouble(cluster: Cluster, unit: Unit) -> str:
    assert unit.gpu is not None
    if unit.gpu.error:
        return f"sick: {unit.gpu.error}"
    for process in unit.gpu.processes:
        if process.run is None:
            return f"{process.user or 'someone'} (pid {process.pid})"
        if cluster.roster.of_run(process.run.partition("/")[0]) is None:
            return f"{process.user or 'someone'}'s cockpit job (pid {process.pid})"
    return ""


def _coming_until(node: Node) -> float:
    """Nobody may overtake a job only because its nodes answer later than others at the start."""
    if node.link not in (LinkState.CONNECTING, LinkState.UP):
        return 0.0
    return node.changed.mono + COMING_S


def _why(node: Node) -> str:
    words = {
        LinkState.CONNECTING: "is being connected",
        LinkState.UP: "sent no reading yet",
        LinkState.UNREACHABLE: "does not answer",
        LinkState.REFUSED: "needs you: " + (node.error or "refused"),
    }
    return words[node.link]
