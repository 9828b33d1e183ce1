"""CPU milliseconds a tick of the 64x8 map, every GPU new each tick, against DataTable in one run.

`python -m tests.benchmarks.bench_map [ticks]`. A tick ends when its changes are painted.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual.app import App, ComposeResult
from textual.widgets import DataTable

from cockpit.core.cluster import Cluster
from cockpit.ui.app import CockpitApp
from cockpit.ui.screens.cluster import ClusterScreen
from cockpit.ui.widgets.gpu_map import GpuMap
from tests.ui.lab import cluster, gpu, job, moved, node
from tests.ui.model import MemoryModel

NODES, GPUS, SIZE = 64, 8, (200, 70)


def busy() -> Cluster:
    """64 nodes whose every GPU works for one job."""
    names = [f"gpu{n}" for n in range(NODES)]
    nodes = {name: node(name, tuple(gpu(name, n, 90.0) for n in range(GPUS))) for name in names}
    return cluster(nodes, job(1, tuple(nodes.values()), GPUS))


class Table(App[None]):
    """The same cells in a DataTable, a row a node."""

    def compose(self) -> ComposeResult:
        yield DataTable[Text]()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for n in range(GPUS):
            table.add_column(str(n), key=str(n), width=8)
        for name in busy().nodes:
            table.add_row(*[Text("") for _ in range(GPUS)], key=name)

    def show(self, snapshot: Cluster) -> None:
        table = self.query_one(DataTable)
        for name, one in snapshot.nodes.items():
            for unit in one.units:
                used = unit.gpu.used_pct if unit.gpu else None
                text = Text(f"A{unit.index} {used:.1f}%", "blue")
                table.update_cell(name, str(unit.index), text)


async def measure(app: App[Any], show: Callable[[Cluster], None], ticks: int) -> list[float]:
    """CPU milliseconds from the new snapshot to its paint."""
    snapshots = [busy()]
    for tick in range(1, ticks + 1):
        snapshots.append(moved(snapshots[-1], tick))
    took: list[float] = []
    for snapshot in snapshots:
        painted = asyncio.Event()
        began = time.process_time()
        show(snapshot)
        app.call_after_refresh(painted.set)
        await painted.wait()
        took.append((time.process_time() - began) * 1000)
    return took[len(took) // 5 :]


async def of_map(ticks: int) -> dict[str, list[float]]:
    """By zoom; the model stands still so that only what is measured draws."""
    found: dict[str, list[float]] = {}
    app = CockpitApp(MemoryModel(busy()))
    async with app.run_test(size=SIZE) as pilot:
        screen = app.framed
        assert isinstance(screen, ClusterScreen)
        grid = screen.query_one(GpuMap)
        for _ in range(3):
            found[f"map, {grid.zoom.value}"] = await measure(app, grid.show, ticks)
            await pilot.press("z")
    return found


async def of_table(ticks: int) -> dict[str, list[float]]:
    app = Table()
    async with app.run_test(size=SIZE):
        return {"DataTable.update_cell": await measure(app, app.show, ticks)}


def main() -> None:
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    found = {**asyncio.run(of_map(ticks)), **asyncio.run(of_table(ticks))}
    table = statistics.median(found["DataTable.update_cell"])
    print(f"{NODES}x{GPUS} GPUs, all new each tick, {ticks} ticks, terminal {SIZE[0]}x{SIZE[1]}")  # noqa: T201  # a benchmark prints
    for name, took in found.items():
        middle, worst = statistics.median(took), max(took)
        print(f"{name:>22}  {middle:6.1f} ms  worst {worst:6.1f} ms  {table / middle:4.1f}x")  # noqa: T201  # a benchmark prints


if __name__ == "__main__":
    main()
