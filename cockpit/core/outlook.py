"""What the queue looks at: the room on each node. Where it did not change, no pass is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """What one node has to give, worked out once a pass."""

    is_up: bool
    why: str
    """What keeps it from being used, in words; empty if it is up."""
    coming_until: float
    """Monotonic seconds until which the queue waits for it to be connected and read; 0 if not at all."""
    size: int
    """Units that it has, those included that are missing from its last reading."""
    shown: int
    """Units in its last reading."""
    kind: str
    """`gpu` or `slot`."""
    free: tuple[tuple[str, int], ...] = ()
    """(id, index) of the units that may be given away now."""
    later: int = 0
    """Units that are free once our own jobs end, with strangers and sick GPUs as they are."""
    takers: tuple[str, ...] = ()
    """Who, other than our own jobs, keeps units, in words."""


Rooms = Mapping[str, Room]
"""By node, in the order of the inventory."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a pass over the queue was made of."""

    nodes: Mapping[str, object]
    """The nodes that `rooms` was worked out from."""
    holding: tuple[int, ...]
    """The jobs that held units then."""
    rooms: Rooms
    waiting: tuple[int, ...]
    blocker: int | None = None
    """The job that held back all those behind it."""
    until: float = math.inf
    """Monotonic seconds at which time alone changes something."""

    def holds_for(self, now: Outlook, mono: float) -> bool:
        """Whether a pass over what is seen `now` would come to the same."""
        return self.waiting is now.waiting and mono < self.until and self.rooms == now.rooms
