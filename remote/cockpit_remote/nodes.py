"""Keeps a link to every node of the inventory; implements cockpit.engine.ports.Nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from cockpit.config import NodeConfig
from cockpit.engine.ports import (
    Body,
    FollowEvent,
    FollowHandle,
    NodeDown,
    NodeEvent,
    NodeUp,
    Unreachable,
)
from cockpit_remote.backoff import Backoff
from cockpit_remote.failures import LinkFailed
from cockpit_remote.link import Link, open_link

CONNECTS = 8
"""Connections made at once: sshd drops logins beyond its MaxStartups, 10 by default."""
FOLLOW_S = 15.0


class SshNodes:
    """Every node by SSH; connects, and connects again, until `close`."""

    def __init__(self, nodes: Sequence[NodeConfig], ssh_config: Path | None, client: str) -> None:
        turns = asyncio.Semaphore(CONNECTS)
        self._keepers = {node.name: _Keeper(node, ssh_config, client, turns) for node in nodes}

    def start(self, on_event: Callable[[NodeEvent], None]) -> None:
        """Begin connecting; events come on the running loop, in order per node."""
        for keeper in self._keepers.values():
            keeper.start(on_event)

    async def request(self, node: str, verb: str, body: Body, timeout_s: float) -> Body:
        """One verb of docs/protocol.md. Raises Refusal or Unreachable."""
        return await self._link(node).request(verb, body, timeout_s)

    async def follow(
        self, node: str, body: Body, sink: Callable[[FollowEvent], None]
    ) -> FollowHandle:
        """Follow a file until its link ends. Raises Refusal or Unreachable."""
        return await self._link(node).follow(body, sink, FOLLOW_S)

    def _link(self, node: str) -> Link:
        """Raises Unreachable; a job may still be on a node that left the inventory."""
        if node not in self._keepers:
            raise Unreachable(f"{node} is not in cockpit.toml any more")
        return self._keepers[node].link

    def retry(self) -> None:
        """Try every node that does not answer at once: a person acted, or this machine woke."""
        for keeper in self._keepers.values():
            keeper.retry()

    async def close(self) -> None:
        """End every link; jobs go on."""
        await asyncio.gather(*(keeper.close() for keeper in self._keepers.values()))


class _Keeper:
    """One node: its link while there is one, and the task that makes the next."""

    def __init__(
        self, node: NodeConfig, ssh_config: Path | None, client: str, turns: asyncio.Semaphore
    ) -> None:
        self._node = node
        self._ssh_config = ssh_config
        self._client = client
        self._turns = turns
        self._link: Link | None = None
        self._why = f"{node.name} is not connected yet"
        self._now = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def link(self) -> Link:
        """Raises Unreachable where there is none."""
        if self._link is None:
            raise Unreachable(self._why)
        return self._link

    def start(self, on_event: Callable[[NodeEvent], None]) -> None:
        self._task = asyncio.create_task(self._keep(on_event), name=f"link to {self._node.name}")

    def retry(self) -> None:
        self._now.set()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._link is not None:
            await self._link.close()
            self._link = None

    async def _keep(self, on_event: Callable[[NodeEvent], None]) -> None:
        backoff = Backoff()
        while True:
            failure = await self._serve(on_event, backoff)
            wait = backoff.after(failure)
            self._why = failure.message
            on_event(NodeDown(self._node.name, failure.message, failure.needs_person, wait))
            self._now.clear()
            await self._wait(wait)

    async def _serve(self, on_event: Callable[[NodeEvent], None], backoff: Backoff) -> LinkFailed:
        """One link from its making to its end, which is returned."""
        try:
            async with self._turns:
                link = await open_link(
                    self._node, self._ssh_config, self._client, on_event, backoff.connect_s
                )
        except LinkFailed as failure:
            return failure
        backoff.reached()
        self._link = link
        on_event(NodeUp(self._node.name, link.hello))
        try:
            return await asyncio.shield(link.ended)
        finally:
            if link.ended.done():
                self._link = None

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._now.wait()
        except TimeoutError:
            return
