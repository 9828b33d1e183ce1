"""The practice cluster with real training on it: on a screen, or without one as a proof that all works."""

from __future__ import annotations

import asyncio
import getpass
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cockpit.build.links import open_nodes
from cockpit.build.model import list_checkpoints
from cockpit.build.place import Place
from cockpit.config import load
from cockpit.core.jobs import Job
from cockpit.core.request import Request
from cockpit.engine.ids import new_run
from cockpit.engine.lock import EngineLock
from cockpit.engine.loop import Engine
from cockpit.engine.paths import StatePaths
from cockpit.engine.ports import Nodes
from cockpit.ui.model import Unavailable

LEAVING = "This is the practice cluster: leaving it ends its jobs."
_PERIOD_S = 0.1


@dataclass(frozen=True, slots=True)
class Proof:
    """What a headless demo saw; the contract of `demo --headless` (docs/cli.md)."""

    id: int
    state: str
    steps: int
    last_loss: float | None
    tokens_per_s: float | None
    checkpoints: list[int] = field(default_factory=list)
    """Steps of the complete ones, newest first."""
    reason: str = ""


@contextmanager
def practice(nodes: int) -> Iterator[Place]:
    """A practice cluster and its own state directory; both are gone after. Raises PracticeError."""
    from cockpit_remote.practice import Practice

    with Practice.start(nodes=nodes) as started:
        state = started.directory / "state"
        config = load(started.config)
        paths = StatePaths.of(config.name, {"XDG_STATE_HOME": str(state)})
        paths.make()
        yield Place(config, started.ssh_config, paths)


def training(place: Place, arguments: list[str], nodes: int = 2, gpus: int = 2) -> Request:
    """The reference trainer on some of the practice nodes."""
    return Request(
        run=new_run(),
        argv=("-m", "cockpit_trainer.train", *arguments),
        name="practice-gpt",
        user=getpass.getuser(),
        nodes=min(nodes, len(place.config.nodes)),
        gpus=gpus,
        submitted_from=str(place.config.path.parent),
    )


def show_demo(nodes: int) -> str:
    """The screen on a practice cluster that trains already; returns what to say after."""
    from cockpit.build.window import show

    with practice(nodes) as place:
        arguments = ["--steps", "2000", "--checkpoint-every", "100", "--min-step-seconds", "0.1"]
        store = place.store()
        store.submit(new_run(), time.time(), training(place, arguments))
        store.close()
        asyncio.run(show(place, leaving=LEAVING))
    return "The practice cluster and its jobs ended; nothing is left of them."


def prove(nodes: int, steps: int, tell: Callable[[str], None]) -> Proof:
    """Connect, submit, train, save: the main job from end to end; `tell` hears what takes time."""
    with practice(nodes) as place:
        return asyncio.run(_prove(place, steps, tell))


async def _prove(place: Place, steps: int, tell: Callable[[str], None]) -> Proof:
    store = place.store()
    lock = EngineLock(place.paths.lock)
    lock.acquire()  # Nobody else knows of this cluster.
    links = open_nodes(place)
    engine = Engine(place.cluster(), store, links, place.paths)
    every = str(max(1, steps // 2))
    request = training(place, ["--steps", str(steps), "--checkpoint-every", every])
    number = store.submit(new_run(), time.time(), request)
    work = asyncio.create_task(engine.run())
    try:
        job = await _until_over(engine, number, work, tell)
        steps_saved = await _saved(engine, links, number)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        lock.release()
        store.close()
    return _proof(job, steps_saved)


async def _until_over(
    engine: Engine, number: int, work: asyncio.Task[None], tell: Callable[[str], None]
) -> Job:
    """Over, and every line of its logs read, so that its figures are the last ones."""
    told = ""
    while True:
        job = engine.snapshot.jobs.get(number)
        if job is not None and job.state.is_over and engine.is_collected(job):
            return job
        words = _now(job) if job is not None else ""
        if words and words != told:
            tell(words)
            told = words
        if work.done():
            work.result()
        await asyncio.sleep(_PERIOD_S)


async def _saved(engine: Engine, nodes: Nodes, number: int) -> list[int]:
    try:
        found = await list_checkpoints(nodes, engine.snapshot, number)
    except Unavailable:
        return []
    return [row.step for row in found if row.complete]


def _now(job: Job) -> str:
    """What takes time just now; steps by the tens."""
    if job.phase or job.step is None:
        return f"{job.state}: {job.phase or job.reason}"
    return f"{job.state}: step {job.step // 10 * 10}"


def _proof(job: Job, saved: list[int]) -> Proof:
    return Proof(
        id=job.id,
        state=job.state.value,
        steps=job.step or 0,
        last_loss=job.values.get("loss"),
        tokens_per_s=job.values.get("tokens_per_s"),
        checkpoints=saved,
        reason=job.reason,
    )
