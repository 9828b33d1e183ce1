"""A second live window: jobs out of the store, readings over links of its own, no decision made."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace

from cockpit.core import watching
from cockpit.core.cluster import Cluster
from cockpit.core.events import Event, LinkChanged, ReadingArrived
from cockpit.engine.lock import holder
from cockpit.engine.loop import now
from cockpit.engine.paths import StatePaths
from cockpit.engine.ports import Nodes
from cockpit.engine.store import Store, StoreError
from cockpit.engine.watch import Watch

PERIOD_S = 0.2


class Viewer:
    """Looks like the engine to a screen; the engine runs in another process."""

    def __init__(self, cluster: Cluster, store: Store, nodes: Nodes, paths: StatePaths) -> None:
        self.snapshot = cluster
        self.alert = ""
        self._store = store
        self._nodes = nodes
        self._paths = paths
        self._watch = Watch(nodes, self._heard, now)

    async def run(self) -> None:
        """Until the engine that it watches ends."""
        self._watch.start()
        seen, mark = -1, 0
        try:
            while holder(self._paths.lock) is not None:
                try:
                    stamp = self._store.stamp()
                    if stamp != seen:
                        jobs, mark = self._store.jobs(mark)
                        merged = self.snapshot.roster.with_jobs(*jobs.values())
                        self.snapshot = replace(self.snapshot, jobs=merged)
                        seen = stamp
                    self.alert = ""
                except (sqlite3.Error, StoreError) as error:
                    self.alert = f"the store cannot be read now ({error}); what is shown is old"
                self.snapshot = replace(self.snapshot, now=now())
                await asyncio.sleep(PERIOD_S)
        finally:
            await self._watch.close()
            await self._nodes.close()

    def _heard(self, event: Event) -> None:
        match event:
            case LinkChanged():
                self.snapshot, _ = watching.link_changed(self.snapshot, event)
            case ReadingArrived():
                node = self.snapshot.nodes.get(event.node)
                if node is not None:
                    read = replace(node, reading=event.reading, read_at=event.at)
                    nodes = {**self.snapshot.nodes, node.name: read}
                    self.snapshot = replace(self.snapshot, nodes=nodes)
