"""The engine on bad days: floods, a damaged store, nodes that left, GPUs that went missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cockpit.core.cluster import Moment
from cockpit.engine import hearsay
from cockpit.engine.loop import ORDERS_AT_ONCE
from cockpit.engine.orders import cancel_body
from cockpit.engine.store import Store
from tests.engine.seat import Seat, until, until_state
from tests.engine.world import World


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(tmp_path / "state", World.of("a", "b"))


async def test_more_orders_than_are_taken_at_once_are_all_taken_in_their_order(seat: Seat) -> None:
    count = ORDERS_AT_ONCE + 50
    for _ in range(count):
        seat.submit(nodes=2, gpus=2)
    async with seat.engine() as engine:
        await until(lambda: len(engine.snapshot.jobs) == count, "all jobs")
        await until_state(engine, 1, "running")
        names = [job.name for job in engine.snapshot.jobs.values()]
    assert names == [f"job{number}" for number in range(1, count + 1)]
    assert seat.stored(count).reason == f"Priority: behind job {count - 1}"


async def test_a_damaged_store_is_told_and_waited_out(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        with closing(sqlite3.connect(seat.paths.store)) as db:
            root = _point_jobs_at(db, 9999)
            seat.world.end("a", 3)
            await until(lambda: "it is damaged" in engine.alert, "the alert")
            assert engine.snapshot.jobs[1].state == "running"
            _point_jobs_at(db, root)
        await until_state(engine, 1, "failed")
        await until(lambda: not engine.alert, "the alert to go")
    assert seat.stored(1).code == 3


def _point_jobs_at(db: sqlite3.Connection, page: int) -> int:
    """Makes the table of jobs begin at a page that may not exist; returns where it began before."""
    db.execute("PRAGMA writable_schema = ON")
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jobs'").fetchone()
    (version,) = db.execute("PRAGMA schema_version").fetchone()
    db.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'jobs'", (page,))
    db.commit()
    db.execute(f"PRAGMA schema_version = {version + 1}")
    return int(root)


async def test_a_gpu_that_went_missing_while_no_engine_ran_is_missed(seat: Seat) -> None:
    async with seat.engine():
        await until(lambda: len(_capacity(seat)) == 2, "both nodes to be remembered")
    for node in seat.world.nodes.values():
        node.units = node.units[:1]
    async with seat.engine() as engine:
        seat.submit(gpus=2)
        seen = "a shows 1 of 2 GPUs; b shows 1 of 2 GPUs"
        await until(lambda: _reason(engine.snapshot.jobs.get(1)).endswith(seen), "the reason")
    assert seat.stored(1).state == "pending"
    assert sorted(_capacity(seat)) == [("a", 2, "gpu"), ("b", 2, "gpu")]


def _reason(job: object) -> str:
    return str(getattr(job, "reason", ""))


def _capacity(seat: Seat) -> list[tuple[str, int, str]]:
    with closing(Store(seat.paths.store)) as store:
        return list(store.capacity())


async def test_a_job_on_a_node_that_left_the_inventory_can_be_given_up(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit(nodes=2)
        await until_state(engine, 1, "running")
    seat.world = World({"a": seat.world.nodes["a"]})
    async with seat.engine() as engine:
        gone = "b is not in cockpit.toml any more"
        await until(lambda: engine.snapshot.jobs[1].reason == gone, "the reason")
        seat.order("cancel", 1)
        await until_state(engine, 1, "completing")
        seat.world.pass_time(31)
        seat.order("cancel", 1, cancel_body(None, forsake=True))
        await until_state(engine, 1, "cancelled")


async def test_logs_that_are_all_here_are_not_opened_by_the_next_engine(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.print("a", "hello\n")
        seat.world.end("a")
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the last line")
    spool = seat.paths.spool("RUN1", 1)
    spool.rename(spool.with_name("aside"))
    async with seat.engine() as engine:
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the engine to know")
    assert not spool.exists()


def test_a_list_of_runs_that_was_cut_or_cannot_be_read_is_not_whole() -> None:
    run = {"run": "R", "attempt": 1, "state": "ended"}
    assert hearsay.runs_listed("a", Moment(), {"runs": [run]}).is_whole
    long = [run] * (hearsay.MAX_ITEMS + 1)
    cut: tuple[object, ...] = (long, [run, "noise"], [{"run": "R"}], None, {})
    for told in cut:
        assert not hearsay.runs_listed("a", Moment(), {"runs": told}).is_whole


def test_no_node_has_more_units_than_anyone_could_use() -> None:
    assert hearsay.reading({"slots": 2**60}).slots == hearsay.MAX_ITEMS
    assert hearsay.reading({"slots": -1}).slots == 0
    gpus = [{"uuid": f"GPU-{n}", "index": n} for n in range(10_000)]
    assert len(hearsay.reading({"gpus": gpus}).gpus) == hearsay.MAX_ITEMS


def test_a_number_that_the_store_could_not_keep_is_unknown() -> None:
    assert hearsay.whole(2**63 - 1) == 2**63 - 1
    assert hearsay.whole(2**63) is None


def test_a_checkpoint_that_no_node_can_be_told_is_none() -> None:
    rows = [{"step": 1, "path": path, "complete": True} for path in ("/a\nb", "/a\0b", "a", "/a")]
    assert [found.path for found in hearsay.complete_checkpoints({"checkpoints": rows})] == ["/a"]
