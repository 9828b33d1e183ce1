"""The engine from end to end: orders in by the store, nodes in memory, death at any moment."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cockpit.core.cluster import LinkState
from cockpit.core.jobs import Checkpoint, Resume
from cockpit.engine.orders import restart_body
from cockpit.engine.spool import SpoolReader
from cockpit.engine.store import Store
from cockpit_trainer.wire import CheckpointSaved, Metrics, Phase, format_line
from tests.core.simulated_node import NodeRefusal
from tests.engine.seat import Seat, until, until_state
from tests.engine.world import World


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(tmp_path / "state", World.of("a", "b"))


def printed(seat: Seat, run: str = "RUN1", attempt: int = 1) -> list[str]:
    reader = SpoolReader(seat.paths.spool(run, attempt))
    reader.refresh()
    return [line.data.decode() for line in reader.lines(0, 10_000)]


async def test_a_job_goes_from_its_order_to_its_last_line(seat: Seat) -> None:
    async with seat.engine() as engine:
        assert seat.submit(nodes=2) == 1
        await until_state(engine, 1, "running")
        seat.world.print("a", "hello\n" + format_line(Metrics(3, 9.0, {"loss": 0.5})) + "\n")
        seat.world.print("a", format_line(CheckpointSaved(3, "/c/3")) + "\n")
        seat.world.print("a", format_line(Phase("saving", "step 3")) + "\n")
        await until(lambda: engine.snapshot.jobs[1].phase == "saving: step 3", "the phase")
        for node in "ab":
            seat.world.end(node)
        job = await until_state(engine, 1, "completed")
        assert (job.step, job.values, job.checkpoint) == (3, {"loss": 0.5}, Checkpoint(3, "/c/3"))
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the last line")
    assert printed(seat)[0] == "hello"
    assert len(printed(seat)) == 4
    stored = seat.stored(1)
    assert (stored.state, stored.code, stored.step) == ("completed", 0, 3)
    with closing(Store(seat.paths.store)) as store:
        assert [(row.name, row.value) for row in store.metrics(1)[0]] == [("loss", 0.5)]
    assert seat.history()[-1] == "completed"


async def test_what_is_shown_is_stored_before(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        job = await until_state(engine, 1, "running")
        assert seat.stored(1).state == job.state
        with closing(Store(seat.paths.store)) as store:
            assert store.orders() == []


async def test_a_dying_rank_ends_its_peers_and_names_itself(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit(nodes=2)
        await until_state(engine, 1, "running")
        seat.world.end("b", 9)
        await until_state(engine, 1, "completing")
        await until(lambda: seat.world.live("a")[0].state == "stopping", "the stop on a")
        assert seat.world.live("a")[0].grace_s == 1
        seat.world.pass_time(2)
        job = await until_state(engine, 1, "failed")
    assert job.code == 9
    assert job.reason.startswith("rank 1 on b exited with code 9")


async def test_a_job_does_not_notice_that_its_engine_ended_and_another_began(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.print("a", "".join(f"line {n}\n" for n in range(2000)))
        await until(lambda: len(printed(seat)) > 100, "some lines")
    seat.world.print("a", "".join(f"line {n}\n" for n in range(2000, 3000)))
    async with seat.engine() as engine:
        assert engine.snapshot.jobs[1].state == "running"
        seat.world.print("a", "the end\n")
        seat.world.end("a")
        await until_state(engine, 1, "completed")
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the last line")
    assert printed(seat) == [*(f"line {n}" for n in range(3000)), "the end"]
    assert seat.world.starts() == {("a", ("RUN1", 1)): 1}


async def test_what_ended_while_no_engine_ran_is_learned_by_the_next(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
    seat.world.end("a", 4)
    async with seat.engine() as engine:
        assert (await until_state(engine, 1, "failed")).code == 4


@pytest.mark.parametrize("verb", ["prepare", "go"])
async def test_a_start_in_whose_middle_the_engine_ended_is_made_again(
    seat: Seat, verb: str
) -> None:
    seat.world.held[verb] = asyncio.Event()
    async with seat.engine():
        seat.submit(nodes=2)
        await until(lambda: ("b", verb) in seat.world.asked, verb)
    seat.world.held.clear()
    async with seat.engine() as engine:
        await until_state(engine, 1, "running")
        assert engine.snapshot.jobs[1].attempt == (2 if verb == "go" else 1)
    assert set(seat.world.starts().values()) == {1}


async def test_a_go_whose_answer_is_lost_starts_nothing_twice(seat: Seat) -> None:
    seat.world.mute.add("go")
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.end("a")
        await until_state(engine, 1, "completed")
    assert seat.world.starts() == {("a", ("RUN1", 1)): 1}


async def test_a_refusal_is_the_reason_that_people_read(seat: Seat) -> None:
    message = "no \x1b]0;evil\x07 train.py"
    seat.world.nodes["a"].refuse = NodeRefusal("NoScript", message, retry=False)
    async with seat.engine() as engine:
        seat.submit()
        job = await until_state(engine, 1, "failed")
    assert job.reason == "a: NoScript: no ␛]0;evil␇ train.py"
    assert seat.world.live("a") == []


async def test_an_order_counts_once_however_often_it_is_sent(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        for _ in range(3):
            seat.order("cancel", 1, uid="same")
        await until_state(engine, 1, "completing")
        seat.order("cancel", 1, uid="same")
        seat.world.pass_time(60)
        await until_state(engine, 1, "cancelled")
    assert sum(line.startswith("being stopped") for line in seat.history()) == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [("cancel", "{"), ("cancel", "[]"), ("dance", "{}"), ("restart", '{"resume": "x"}'),
     ("submit", '{"argv": []}'), ("submit", "null"), ("cancel", '{"grace_s": {}, "forsake": 1}')],
)  # fmt: skip
async def test_an_order_that_nobody_understands_is_told_and_forgotten(
    seat: Seat, kind: str, body: str
) -> None:
    async with seat.engine() as engine:
        seat.submit()
        seat.order(kind, 1, body)
        seat.submit()
        await until(lambda: 2 in engine.snapshot.jobs, "the order behind it")
    assert any(kind in line for line in seat.history())
    with closing(Store(seat.paths.store)) as store:
        assert store.orders() == []


async def test_orders_wait_for_an_engine(seat: Seat) -> None:
    seat.submit()
    seat.submit()
    seat.order("cancel", 2)
    async with seat.engine() as engine:
        await until_state(engine, 1, "running")
        await until_state(engine, 2, "cancelled")


async def test_a_stop_reaches_a_node_that_was_away(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.cut("a")
        link = LinkState.UNREACHABLE
        await until(lambda: engine.snapshot.nodes["a"].link is link, "the cut to be seen")
        seat.order("cancel", 1)
        await until_state(engine, 1, "completing")
        seat.world.heal("a")
        await until(lambda: seat.world.live("a")[0].state == "stopping", "the stop")
        assert seat.world.live("a")[0].grace_s == 30
        seat.world.pass_time(31)
        await until_state(engine, 1, "cancelled")


async def test_a_restart_goes_on_from_the_newest_complete_checkpoint(seat: Seat) -> None:
    seat.world.nodes["a"].checkpoints = [
        {"step": 30, "path": "/c/30", "complete": False, "reason": "a file is missing"},
        {"step": 20, "path": "/c/20", "complete": True},
        {"step": "x", "path": 5, "complete": True},
    ]
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.end("a", 1)
        await until_state(engine, 1, "failed")
        seat.order("restart", 1, restart_body(Resume.NEWEST))
        job = await until_state(engine, 1, "running")
        assert (job.attempt, job.resume) == (2, Checkpoint(20, "/c/20"))
        assert seat.world.live("a")[0].spec["resume"] == {"path": "/c/20", "step": 20}


async def test_a_node_starts_nothing_before_it_has_listed_its_runs(seat: Seat) -> None:
    seat.world.held["runs"] = asyncio.Event()
    async with seat.engine() as engine:
        seat.submit()
        await until(lambda: 1 in engine.snapshot.jobs, "the job")
        assert engine.snapshot.nodes["a"].phase == "looking at its runs"
        assert engine.snapshot.jobs[1].state == "pending"
        seat.world.held["runs"].set()
        await until_state(engine, 1, "running")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two megabytes that are really full when they are."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.cluster
async def test_a_full_disk_is_waited_out_and_nothing_is_lost(small_disk: Path) -> None:
    seat = Seat(small_disk / "state", World.of("a"))
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        fill(small_disk / "ballast")
        seat.world.end("a", 3)
        await until(lambda: "free some disk space" in engine.alert, "the alert")
        assert engine.snapshot.jobs[1].state == "running"
        (small_disk / "ballast").unlink()
        await until_state(engine, 1, "failed")
        await until(lambda: not engine.alert, "the alert to go")
    assert seat.stored(1).code == 3


@pytest.mark.cluster
async def test_an_engine_that_ends_on_a_full_disk_loses_nothing(small_disk: Path) -> None:
    seat = Seat(small_disk / "state", World.of("a"))
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        fill(small_disk / "ballast")
        seat.world.end("a", 3)
        await until(lambda: engine.alert, "the alert")
    (small_disk / "ballast").unlink()
    async with seat.engine() as engine:
        await until_state(engine, 1, "failed")


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
