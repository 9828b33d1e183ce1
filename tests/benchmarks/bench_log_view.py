"""Our log view against Textual's RichLog and Log: `python -m tests.benchmarks.bench_log_view`.

Each widget runs in a process of its own. First 10,000 lines a second arrive while a key is pressed
ten times a second; then lines come as fast as they are taken; then memory is read at 100,000 lines.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Label, Log, RichLog

from cockpit.engine.spool import AttemptSpool
from cockpit.ui.app import CockpitApp
from cockpit.ui.model import Model
from cockpit.ui.widgets.log_view import LogView
from tests.ui.model import MemoryModel

SECONDS = 5.0
RATE = 10_000
"""Lines a second."""
BATCHES = 20
"""Times a second that lines come."""
MEMORY_LINES = 100_000
KINDS = ("RichLog.write", "Log.write_lines", "LogView")


def batch(start: int, count: int) -> list[str]:
    return [
        f"rank {n % 8} step {n} loss 2.113 lr 2.9e-4 128k tok/s"
        for n in range(start, start + count)
    ]


class Bench(CockpitApp):
    """One log widget under one label that every key changes."""

    BINDINGS = [Binding("x", "press", priority=True)]  # noqa: RUF012  # as Textual declares it

    def __init__(self, model: Model, kind: str, directory: Path) -> None:
        super().__init__(model)
        self.kind = kind
        self.directory = directory
        self.spool = AttemptSpool(directory)
        self.paints = 0
        self.painted = asyncio.Event()
        self.presses = 0
        self.lines = 0

    def compose(self) -> ComposeResult:
        yield Label("0", id="presses")
        yield {"RichLog.write": RichLog, "Log.write_lines": Log, "LogView": LogView}[self.kind]()

    def get_default_screen(self) -> Any:
        from textual.screen import Screen

        return Screen()

    def _tick(self) -> None:
        """The cockpit's own screens are not part of this."""

    def _display(self, screen: Any, renderable: Any) -> None:
        super()._display(screen, renderable)
        self.paints += 1
        if self.presses:
            self.painted.set()

    def action_press(self) -> None:
        self.presses += 1
        self.query_one("#presses", Label).update(str(self.presses))

    def take(self, count: int) -> None:
        lines = batch(self.lines, count)
        self.lines += count
        if self.kind == "RichLog.write":
            for line in lines:
                self.query_one(RichLog).write(line)
        elif self.kind == "Log.write_lines":
            self.query_one(Log).write_lines(lines)
        else:
            for rank in range(8):
                data = "".join(f"{line}\n" for line in lines[rank::8]).encode()
                name = f"{rank}.stdout"
                self.spool.append(name, self.spool.size(name), data)


async def measure(kind: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        app = Bench(MemoryModel(), kind, Path(place))
        async with app.run_test(size=(120, 40)) as pilot:
            if kind == "LogView":
                view = app.query_one(LogView)
                view.open(app.directory)
                app.set_interval(0.1, view.tick)
            await pilot.pause()
            found = await arriving(app)
            found |= await saturated(app)
            found |= await memory(app)
        app.spool.close()
    return found


async def arriving(app: Bench) -> dict[str, float]:
    waits: list[float] = []
    start, cpu, paints = time.perf_counter(), time.process_time(), app.paints

    async def feed() -> None:
        while (now := time.perf_counter() - start) < SECONDS:
            due = int(now * RATE) - app.lines
            app.take(min(max(due, 0), RATE // BATCHES * 4))
            await asyncio.sleep(1 / BATCHES)

    async def press() -> None:
        while time.perf_counter() - start < SECONDS:
            app.painted.clear()
            pressed = time.perf_counter()
            app.action_press()
            await app.painted.wait()
            waits.append((time.perf_counter() - pressed) * 1e3)
            await asyncio.sleep(0.1)

    await asyncio.gather(feed(), press())
    wall = time.perf_counter() - start
    waits.sort()
    return {
        "lines_per_s": app.lines / wall,
        "paints_per_s": (app.paints - paints) / wall,
        "key_p50_ms": waits[len(waits) // 2],
        "key_p95_ms": waits[int(len(waits) * 0.95)],
        "cpu_pct": 100 * (time.process_time() - cpu) / wall,
    }


async def saturated(app: Bench) -> dict[str, float]:
    start, lines = time.perf_counter(), app.lines
    while time.perf_counter() - start < SECONDS / 2:
        app.take(1000)
        await asyncio.sleep(0)
    return {"saturated_lines_per_s": (app.lines - lines) / (time.perf_counter() - start)}


async def memory(app: Bench) -> dict[str, float]:
    """Kilobytes that the same 100,000 lines cost, by the peak."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(MEMORY_LINES // 1000):
        app.take(1000)
        await asyncio.sleep(0)
    return {
        "mb_per_100k_lines": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    }


def main() -> None:
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(asyncio.run(measure(sys.argv[1]))))
        return
    results = {}
    for kind in KINDS:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, kind], check=True, capture_output=True, text=True
        )
        results[kind] = json.loads(done.stdout)
    ours = results["LogView"]
    for figure in ours:
        row = "  ".join(f"{kind} {results[kind][figure]:>12,.1f}" for kind in KINDS)
        rivals = "  ".join(
            f"x{results[kind][figure] / ours[figure]:.2f}" if ours[figure] else "-"
            for kind in KINDS[:-1]
        )
        sys.stdout.write(f"{figure:>22}  {row}   theirs/ours {rivals}\n")


if __name__ == "__main__":
    main()
