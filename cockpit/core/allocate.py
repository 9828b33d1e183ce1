"""Which units a job gets, all or none, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cockpit.core.cluster import Cluster
from cockpit.core.figures import counted
from cockpit.core.jobs import Part
from cockpit.core.outlook import Room, Rooms
from cockpit.core.request import Request
from cockpit.core.rooms import GONE, look

_Units = Sequence[tuple[str, int]]
"""(id, index) of each."""


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
    return place(look(cluster).rooms, cluster.now.mono, request, home, prefer)


def place(
    rooms: Rooms, mono: float, request: Request, home: str | None, prefer: Sequence[str]
) -> tuple[Part, ...] | Shortage:
    """As `allocate`, where the room on each node is known already; `mono` is monotonic seconds."""
    if home is not None and (home not in rooms or not rooms[home].is_up):
        why = rooms[home].why if home in rooms else GONE
        coming = home in rooms and rooms[home].coming_until > mono
        return Shortage(f"NodeDown: {home} holds its checkpoint and {why}", blocks=coming)
    fitting = [name for name, room in rooms.items() if len(room.free) >= request.gpus]
    if len(fitting) >= request.nodes and (home is None or home in fitting):
        free = {name: room.free for name, room in rooms.items()}
        return _parts(fitting, free, request, home, prefer)
    return _shortage(rooms, mono, request, home)


def sketch(
    cluster: Cluster, request: Request, home: str | None = None, prefer: Sequence[str] = ()
) -> tuple[Part, ...]:
    """Where it would go: now if it fits, else on the nodes that are large enough."""
    placed = allocate(cluster, request, home, prefer)
    if isinstance(placed, tuple):
        return placed
    whole = {
        name: [(unit.id, unit.index) for unit in node.units] for name, node in cluster.nodes.items()
    }
    large = [name for name, units in whole.items() if len(units) >= request.gpus]
    enough = large if len(large) >= request.nodes else list(whole)
    return _parts(enough, whole, request, home, prefer)


def _parts(
    fitting: Sequence[str],
    units: Mapping[str, _Units],
    request: Request,
    home: str | None,
    prefer: Sequence[str],
) -> tuple[Part, ...]:
    """The tightest nodes first, so that whole nodes stay whole; ranks follow the inventory."""
    order = {name: at for at, name in enumerate(units)}

    def tightness(name: str) -> tuple[bool, bool, int, int]:
        return name != home, name not in prefer, len(units[name]), order[name]

    chosen = sorted(fitting, key=tightness)[: request.nodes]
    ranked = sorted(chosen, key=lambda name: (name != home, order[name]))
    return tuple(_part(rank, name, units[name][: request.gpus]) for rank, name in enumerate(ranked))


def _part(rank: int, node: str, units: _Units) -> Part:
    return Part(node, rank, tuple(unit for unit, _ in units), tuple(index for _, index in units))


def _shortage(rooms: Rooms, mono: float, request: Request, home: str | None) -> Shortage:
    sizes = {name: room.size for name, room in rooms.items()}
    possible = [name for name, size in sizes.items() if size >= request.gpus]
    if all(sizes.values()) and len(possible) < request.nodes:
        reason = never_fits(request, sizes, _kind(rooms))
        return Shortage(reason, blocks=False, never=True)
    up = [name for name, room in rooms.items() if room.is_up]
    if len([name for name in possible if rooms[name].is_up]) < request.nodes:
        if any(room.coming_until > mono for room in rooms.values()):
            return Shortage(f"Connecting: {len(up)}/{len(rooms)} nodes are up", blocks=True)
        down = [f"{name} {room.why}" for name, room in rooms.items() if not room.is_up]
        return Shortage(f"NodeDown: needs {request.shape}; {'; '.join(down)}", blocks=False)
    counts = sorted((len(rooms[name].free) for name in up), reverse=True)
    some = " + ".join(f"1x{count}" for count in counts if count) or "none"
    reason = f"Resources: needs {request.shape} {_kind(rooms)}s, free {some}{_takers(rooms)}"
    missing = _missing(rooms, request)
    rest = [*missing, *([f"{home} must have room"] if home else [])]
    return Shortage("; ".join([reason, *rest]), _has_room_later(rooms, request, home))


def _missing(rooms: Rooms, request: Request) -> list[str]:
    """Nodes that would be large enough, were all their GPUs to be seen."""
    return [
        f"{name} shows {room.shown} of {room.size} GPUs"
        for name, room in rooms.items()
        if room.is_up and room.shown < request.gpus <= room.size
    ]


def _has_room_later(rooms: Rooms, request: Request, home: str | None) -> bool:
    """Whether it would fit once our own jobs end, with strangers and sick GPUs as they are."""
    roomy = {name for name, room in rooms.items() if room.later >= request.gpus}
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


def _kind(rooms: Rooms) -> str:
    return "GPU" if any(room.kind == "gpu" for room in rooms.values()) else "slot"


def _takers(rooms: Mapping[str, Room]) -> str:
    """Who, other than our own jobs, holds units; two names at most."""
    words = [who for room in rooms.values() for who in room.takers]
    more = f" and {len(words) - 2} more" if len(words) > 2 else ""
    return f" (taken by {', '.join(words[:2])}{more})" if words else ""
