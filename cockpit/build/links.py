"""Opens the links to the nodes; imports asyncssh, which takes a while, only when asked."""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cockpit.build.place import Place
from cockpit.core.cluster import Cluster, LinkState
from cockpit.core.events import Event, LinkChanged, ReadingArrived
from cockpit.core.watching import link_changed, reading_arrived
from cockpit.engine.ids import new_run
from cockpit.engine.loop import now
from cockpit.engine.ports import Nodes
from cockpit.engine.watch import Watch

RATES_SEQ = 2
"""Number of the reading that has rates, such as CPU use: they need two looks."""


def open_nodes(place: Place, only: str | None = None) -> Nodes:
    """Links to every node of the inventory, or to one; nothing connects before `start`."""
    module = importlib.import_module("cockpit_remote.nodes")
    nodes = [node for node in place.config.nodes if only in (None, node.name)]
    opened: Nodes = module.SshNodes(nodes, place.ssh_config, new_run())
    return opened


class Look:
    """Links of a short-lived process, and what came over them so far."""

    def __init__(self, place: Place, nodes: Nodes, only: str | None) -> None:
        import asyncio

        cluster = place.cluster()
        wanted = {name: node for name, node in cluster.nodes.items() if only in (None, name)}
        self.cluster = Cluster(name=cluster.name, nodes=wanted)
        self.nodes = nodes
        self._watch = Watch(nodes, self._heard, now)
        self._changed = asyncio.Event()

    def start(self) -> None:
        self._watch.start()

    async def settled(self, timeout_s: float) -> Cluster:
        """Once every node was read or gave a reason why not; or when time is up."""
        import asyncio

        try:
            async with asyncio.timeout(timeout_s):
                while any(_is_open(self.cluster, name) for name in self.cluster.nodes):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.cluster

    async def close(self) -> None:
        await self._watch.close()
        await self.nodes.close()

    def _heard(self, event: Event) -> None:
        if isinstance(event, LinkChanged):
            self.cluster, _ = link_changed(self.cluster, event)
        elif isinstance(event, ReadingArrived):
            self.cluster, _ = reading_arrived(self.cluster, event)
        self._changed.set()


def _is_open(cluster: Cluster, name: str) -> bool:
    node = cluster.nodes[name]
    is_read = node.reading is not None and node.reading.seq >= RATES_SEQ
    return node.link is LinkState.CONNECTING or (node.link is LinkState.UP and not is_read)


@asynccontextmanager
async def looking(place: Place, only: str | None = None) -> AsyncIterator[Look]:
    """Links for one look at the nodes, or at one of them."""
    logging.getLogger("cockpit").addHandler(logging.NullHandler())  # What matters is in the answer.
    look = Look(place, open_nodes(place, only), only)
    look.start()
    try:
        yield look
    finally:
        await look.close()
