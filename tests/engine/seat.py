"""An engine on a world in memory, with a store on disk; ended and started as often as a test likes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from cockpit.core.cluster import Cluster, Node
from cockpit.core.jobs import Job
from cockpit.core.request import Request
from cockpit.engine.loop import Engine
from cockpit.engine.orders import cancel_body
from cockpit.engine.paths import StatePaths
from cockpit.engine.store import Store
from tests.engine.world import Links, World

PATIENCE_S = 20.0


class Seat:
    """The state directory of one person; orders go in as from another process."""

    def __init__(self, root: Path, world: World) -> None:
        self.paths = StatePaths(root)
        self.paths.make()
        self.world = world
        self._orders = 0

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        """Runs inside; cancelled at the end, as when its person leaves."""
        cluster = Cluster(nodes={name: Node(name) for name in self.world.nodes})
        with closing(Store(self.paths.store)) as store:
            engine = Engine(cluster, store, Links(self.world), self.paths)
            work = asyncio.create_task(engine.run())
            try:
                yield engine
            finally:
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work

    def submit(self, nodes: int = 1, gpus: int = 1) -> int:
        self._orders += 1
        run = f"RUN{self._orders}"
        request = Request(run, ("train.py",), f"job{self._orders}", "me", nodes, gpus)
        with closing(Store(self.paths.store)) as store:
            return store.submit(f"uid-{run}", 1.0, request)

    def order(self, kind: str, job: int, body: str | None = None, uid: str | None = None) -> None:
        self._orders += 1
        with closing(Store(self.paths.store)) as store:
            text = cancel_body(None) if body is None else body
            store.order(uid or f"uid-{self._orders}", 1.0, kind, job, text)

    def stored(self, job: int) -> Job:
        """As another process reads it."""
        with closing(Store(self.paths.store)) as store:
            return store.jobs()[0][job]

    def history(self) -> list[str]:
        with closing(Store(self.paths.store)) as store:
            return [line.text for line in store.history()]


async def until(condition: Callable[[], object], what: str) -> None:
    """Returns as soon as `condition()` is true; raises TimeoutError that names `what`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while not condition():
        if loop.time() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S:g} s for {what}")
        await asyncio.sleep(0.01)


async def until_state(engine: Engine, job: int, state: str) -> Job:
    def is_there() -> bool:
        found = engine.snapshot.jobs.get(job)
        return found is not None and found.state == state

    await until(is_there, f"job {job} to be {state}: {engine.snapshot.jobs.get(job)}")
    return engine.snapshot.jobs[job]
