"""A world in memory for the engine: nodes of docs/protocol.md behind cockpit.engine.ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cockpit.engine.ports import (
    Appended,
    Body,
    Ended,
    FollowEvent,
    LinkEnded,
    NodeConnecting,
    NodeDown,
    NodeEvent,
    NodeReading,
    NodeUp,
    Refusal,
    Replaced,
    RunReported,
    Unreachable,
)
from tests.core.simulated_node import LIVE, Key, NodeRefusal, SimulatedNode, SimulatedRun

Sink = Callable[[FollowEvent], None]


@dataclass(slots=True, eq=False)
class Tail:
    """One followed file; sends what there is credit for."""

    run: SimulatedRun
    world: World
    sink: Sink
    offset: int
    credit: int
    is_open: bool = True

    def grant(self, count: int) -> None:
        self.credit += count
        self.send()

    async def close(self) -> None:
        self.is_open = False

    def begin_anew(self) -> None:
        self.offset = 0
        if self.is_open:
            self.sink(Replaced("the file was replaced"))

    def send(self) -> None:
        if self.world.is_silent:
            return
        while self.is_open and self.credit > 0 and self.offset < len(self.run.lines):
            data = self.run.lines[self.offset : self.offset + min(self.credit, 65536)]
            self.credit -= len(data)
            self.offset += len(data)
            self.sink(Appended(self.offset - len(data), data))
        if self.is_open and self.run.state not in LIVE and self.offset == len(self.run.lines):
            self.is_open = False
            self.sink(Ended(self.offset))


@dataclass(slots=True)
class World:
    """The nodes, which outlive every engine that reaches them."""

    nodes: dict[str, SimulatedNode]
    down: set[str] = field(default_factory=set)
    mute: set[str] = field(default_factory=set)
    """Verbs that are carried out, but whose answer gets lost."""
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """Verbs that are carried out only once somebody lets them."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(node, verb), every request that reached a node."""
    links: list[Links] = field(default_factory=list)
    refuse_follow: NodeRefusal | None = None
    """The answer to every follow."""
    is_silent: bool = False
    """No node sends anything of a log, nor that it ended."""

    @classmethod
    def of(cls, *names: str, units: int = 2) -> World:
        return cls({name: SimulatedNode(name, _units(name, units)) for name in names})

    def live(self, node: str) -> list[SimulatedRun]:
        return self.nodes[node].live()

    def print(self, node: str, text: str) -> None:
        """The oldest live run of the node prints."""
        run = self.live(node)[0]
        run.lines += text.encode()
        self.tell()

    def replace_log(self, node: str, text: str) -> None:
        """Another file stands where the oldest live run of the node printed to."""
        run = self.live(node)[0]
        run.lines = text.encode()
        for links in self.links:
            links.begin_anew(run)
        self.tell()

    def end(self, node: str, code: int = 0, signal: str | None = None) -> None:
        """The oldest live run of the node ends by itself."""
        self.nodes[node].end(self.live(node)[0], code, signal=signal)
        self.tell()

    def starts(self) -> dict[tuple[str, Key], int]:
        return {
            (n.name, key): count for n in self.nodes.values() for key, count in n.starts.items()
        }

    def cut(self, node: str) -> None:
        self.down.add(node)
        for links in self.links:
            links.lose(node)

    def heal(self, node: str) -> None:
        self.down.discard(node)
        for links in self.links:
            links.reach(node)

    def pass_time(self, seconds: float) -> None:
        for node in self.nodes.values():
            node.advance(seconds)
        self.tell()

    def tell(self) -> None:
        """Pushes and lines go to whoever is linked."""
        for name, node in self.nodes.items():
            pushes, node.pushes = node.pushes, []
            for links in self.links:
                links.take(name, pushes)


class Links:
    """One engine's links; implements cockpit.engine.ports.Nodes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._on_event: Callable[[NodeEvent], None] | None = None
        self._tails: list[tuple[str, Tail]] = []

    def start(self, on_event: Callable[[NodeEvent], None]) -> None:
        self._on_event = on_event
        self._world.links.append(self)
        for name in self._world.nodes:
            on_event(NodeConnecting(name, "connecting"))
            if name not in self._world.down:
                self.reach(name)

    def reach(self, name: str) -> None:
        assert self._on_event is not None
        node = self._world.nodes[name]
        self._on_event(NodeUp(name, node.hello()))
        self._on_event(NodeReading(name, node.reading()))

    def lose(self, name: str) -> None:
        assert self._on_event is not None
        for node, tail in self._tails:
            if node == name and tail.is_open:
                tail.is_open = False
                tail.sink(LinkEnded("no answer"))
        self._on_event(NodeDown(name, "no answer", needs_person=False, retry_in_s=1.0))

    def begin_anew(self, run: SimulatedRun) -> None:
        for _, tail in self._tails:
            if tail.run is run:
                tail.begin_anew()

    @property
    def followed(self) -> int:
        """How often a log was followed so far."""
        return len(self._tails)

    def take(self, name: str, pushes: Sequence[Body]) -> None:
        assert self._on_event is not None
        if name in self._world.down:
            return
        for push in pushes:
            self._on_event(RunReported(name, push))
        for node, tail in self._tails:
            if node == name:
                tail.send()

    def retry(self) -> None:
        """Nothing waits here: a node that is back says so itself."""

    async def request(self, node: str, verb: str, body: Body, timeout_s: float) -> Body:
        await asyncio.sleep(0)
        if node in self._world.down or node not in self._world.nodes:
            raise Unreachable(f"{node} does not answer")
        self._world.asked.append((node, verb))
        if verb in self._world.held:
            await self._world.held[verb].wait()
        try:
            reply = self._world.nodes[node].request(verb, body)
        except NodeRefusal as refusal:
            raise Refusal(refusal.code, refusal.message, refusal.retry) from refusal
        finally:
            self._world.tell()
        if verb in self._world.mute:
            raise Unreachable(f"{node} did not answer {verb}")
        return reply

    async def follow(self, node: str, body: Body, sink: Sink) -> Tail:
        await asyncio.sleep(0)
        here = self._world.nodes.get(node)
        run = here.runs.get((body["run"], body["attempt"])) if here else None
        if node in self._world.down or run is None:
            raise Unreachable(f"{node} does not answer")
        if (refusal := self._world.refuse_follow) is not None:
            raise Refusal(refusal.code, refusal.message, refusal.retry)
        tail = Tail(run, self._world, sink, body["offset"], body["credit"])
        self._tails.append((node, tail))
        asyncio.get_running_loop().call_soon(tail.send)
        return tail

    async def close(self) -> None:
        if self in self._world.links:
            self._world.links.remove(self)


def _units(name: str, count: int) -> list[str]:
    return [f"SIM-{name}-{number}" for number in range(count)]
