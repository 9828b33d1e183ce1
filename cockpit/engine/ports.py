"""What the engine needs of the world, as narrow protocols; cockpit_remote implements them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Body = Mapping[str, Any]


class Refusal(Exception):
    """The node said no, in words."""

    def __init__(self, code: str, message: str, retry: bool) -> None:
        super().__init__(message)
        self.code = code
        """One of the codes in docs/protocol.md."""
        self.message = message
        self.retry = retry
        """True where waiting may help: a busy unit, a full disk, a taken port."""


class Unreachable(Exception):
    """No answer: the request may or may not have been carried out."""


@dataclass(frozen=True, slots=True)
class NodeConnecting:
    node: str
    phase: str
    """What takes time just now, for people: `connecting`, `shipping 40/50 KB`."""


@dataclass(frozen=True, slots=True)
class NodeUp:
    node: str
    hello: Body


@dataclass(frozen=True, slots=True)
class NodeDown:
    node: str
    error: str
    needs_person: bool
    """True where trying again cannot help: an unknown host key, a refused login, no python3."""
    retry_in_s: float | None


@dataclass(frozen=True, slots=True)
class NodeReading:
    node: str
    reading: Body


@dataclass(frozen=True, slots=True)
class RunReported:
    node: str
    state: Body
    """A RunState as in docs/protocol.md."""


NodeEvent = NodeConnecting | NodeUp | NodeDown | NodeReading | RunReported


@dataclass(frozen=True, slots=True)
class Appended:
    offset: int
    """Bytes before `data` in the node's file."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Replaced:
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    offset: int
    """Bytes of the whole file; nothing follows."""


@dataclass(frozen=True, slots=True)
class LinkEnded:
    """Nothing follows over this link; comes also where `follow` itself raises Unreachable for it."""

    reason: str


FollowEvent = Appended | Replaced | Ended | LinkEnded


class FollowHandle(Protocol):
    """One followed file of one link; dead once that link is."""

    def grant(self, count: int) -> None:
        """Let the node send `count` more bytes."""

    async def close(self) -> None: ...


class Nodes(Protocol):
    """Every node of the inventory, over whatever reaches them."""

    def start(self, on_event: Callable[[NodeEvent], None]) -> None:
        """Begin connecting; events come on the running loop, in order per node."""

    def retry(self) -> None:
        """Try every node that does not answer at once: a person acted, or this machine woke."""

    async def request(self, node: str, verb: str, body: Body, timeout_s: float) -> Body:
        """One verb of docs/protocol.md. Raises Refusal or Unreachable."""

    async def follow(
        self, node: str, body: Body, sink: Callable[[FollowEvent], None]
    ) -> FollowHandle:
        """Follow a file from an offset (docs/protocol.md). Raises Refusal or Unreachable."""

    async def close(self) -> None: ...
