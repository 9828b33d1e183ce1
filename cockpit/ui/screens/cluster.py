"""Screen 1: who uses which GPU, and is it working or just held?"""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult

from cockpit.core.cluster import Cluster, Node
from cockpit.ui import describe
from cockpit.ui.actions import Context
from cockpit.ui.screens.frame import Framed
from cockpit.ui.widgets.gpu_map import GpuMap
from cockpit.ui.widgets.unit_detail import UnitDetail


class ClusterScreen(Framed):
    """The map, and what is under its cursor."""

    TAB = "cluster"
    CONTEXTS = (Context.MAP, Context.JOBS, Context.EVERYWHERE)

    def body(self) -> ComposeResult:
        yield GpuMap()
        yield UnitDetail()

    def show(self, cluster: Cluster) -> None:
        self.query_one(GpuMap).show(cluster)

    @on(GpuMap.Moved)
    def _tell(self) -> None:
        chosen = self.query_one(GpuMap).chosen
        self.query_one(UnitDetail).show(self.model.cluster, self._node(), chosen)

    @on(GpuMap.Opened)
    def _open(self, event: GpuMap.Opened) -> None:
        self.post_message(self.Opened(event.job))

    @property
    def chosen_job(self) -> int | None:
        chosen = self.query_one(GpuMap).chosen
        return chosen.job if chosen else None

    def facts(self) -> tuple[str, list[describe.Fact]] | None:
        """Title and all that is known of what the cursor is on, where that is not a job."""
        node, chosen = self._node(), self.query_one(GpuMap).chosen
        if node is None:
            return None
        unit = describe.unit(chosen) if chosen else []
        return node.name, unit + describe.node(self.model.cluster, node)

    def _node(self) -> Node | None:
        cursor = self.query_one(GpuMap).cursor
        return self.model.cluster.nodes.get(cursor.node) if cursor else None
