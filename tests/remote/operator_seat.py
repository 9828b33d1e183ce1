"""A test's place at the operator's end: links to lab nodes, and every event that came."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from cockpit.config import NodeConfig
from cockpit.engine.ports import Appended, Ended, FollowEvent, NodeEvent, Replaced
from cockpit_remote.link import Link, open_link
from cockpit_remote.nodes import SshNodes
from tests.cluster.lab import Lab
from tests.cluster.node import LabNode

E = TypeVar("E")
PATIENCE_S = 30.0
CREDIT = 1 << 20
PYTHON_3_8 = next(
    (str(path) for path in Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8")),
    "/usr/bin/python3.8",
)
"""The oldest Python that nodes may have, where this machine has it."""
RUN = "01JTESTRUN000000000000000A"


class Seat:
    """Collects events and lets a test wait for one."""

    def __init__(self) -> None:
        self.events: list[NodeEvent] = []
        self._changed = asyncio.Event()

    def take(self, event: NodeEvent) -> None:
        self.events.append(event)
        self._changed.set()

    async def see(
        self, kind: type[E], matches: Callable[[E], bool] = lambda _: True, since: int = 0
    ) -> E:
        """The first event of `kind` that matches, from number `since` on; fails after a while."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.events[since:]:
                    if isinstance(event, kind) and matches(event):
                        return event
                self._changed.clear()
                await self._changed.wait()


class Copy:
    """A followed file as it arrived: its bytes, and credit given back for each piece."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended: int | None = None
        self.replacements: list[str] = []
        self.grant: Callable[[int], None] = lambda _: None
        self._changed = asyncio.Event()

    def take(self, event: FollowEvent) -> None:
        match event:
            case Appended(offset, data):
                assert offset == len(self.data)
                self.data += data
                self.grant(len(data))
            case Replaced(message):
                self.replacements.append(message)
                self.data.clear()
            case Ended(offset):
                self.ended = offset
        self._changed.set()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    async def more_than(self, size: int) -> None:
        await self.until(lambda: len(self.data) > size)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


def config(node: str, **fields: Any) -> NodeConfig:
    """As one table of cockpit.toml."""
    return NodeConfig(**{"name": node, "address": node, **fields})


@asynccontextmanager
async def linked(lab: Lab, node: NodeConfig, seat: Seat | None = None) -> AsyncIterator[Link]:
    """One link, closed at the end."""
    link = await open_link(node, lab.ssh_config, "test", (seat or Seat()).take, 20)
    try:
        yield link
    finally:
        await link.close()


@asynccontextmanager
async def keeping(lab: Lab, seat: Seat, *nodes: NodeConfig) -> AsyncIterator[SshNodes]:
    """SshNodes that keep links to `nodes`, closed at the end."""
    kept = SshNodes(nodes, lab.ssh_config, "test")
    kept.start(seat.take)
    try:
        yield kept
    finally:
        await kept.close()


def lay_log(node: LabNode, root: str, name: str = "0.stdout", text: str = "") -> Path:
    """Lays out a run with one log on a node, as a supervisor does; its path on this machine."""
    directory = f"{root}/{node.name}/{RUN}/1"
    path = f"{directory}/log/{name}"
    node.write(path, text)
    row = {"name": name, "rank": 0, "stream": "stdout", "path": path}
    node.write(f"{directory}/ranks.json", json.dumps({"version": 1, "streams": [row]}))
    return node.host_path(path)


def log_of(offset: int = 0, credit: int = CREDIT, name: str = "0.stdout") -> dict[str, Any]:
    """The body of a follow."""
    return {"run": RUN, "attempt": 1, "name": name, "offset": offset, "credit": credit}
