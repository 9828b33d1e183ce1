"""Following on bad days: links that come back at once, spools and disks in trouble, runs that are gone."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cockpit.engine.orders import cancel_body
from cockpit.engine.spool import SpoolReader
from cockpit.engine.store import Store
from cockpit_trainer.wire import Metrics, format_line
from tests.core.simulated_node import NodeRefusal
from tests.engine.seat import Seat, until, until_state
from tests.engine.world import World


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(tmp_path / "state", World.of("a", "b"))


def printed(seat: Seat) -> bytes:
    reader = SpoolReader(seat.paths.spool("RUN1", 1))
    reader.refresh()
    return b"\n".join(line.data for line in reader.lines(0, 10_000))


def steps(seat: Seat) -> list[int | None]:
    with closing(Store(seat.paths.store)) as store:
        return [row.step for row in store.metrics(1)[0]]


async def test_a_link_that_ends_and_is_back_within_one_batch_hangs_no_log(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.print("a", "before\n")
        await until(lambda: printed(seat) == b"before", "the first line")
        seat.world.cut("a")
        seat.world.heal("a")
        seat.world.print("a", "after\n")
        await until(lambda: printed(seat) == b"before\nafter", "the second line")


@pytest.mark.parametrize("trouble", ["a file in its place", "another version", "noise"])
async def test_a_spool_in_trouble_is_told_and_waited_out_while_jobs_go_on(
    seat: Seat, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cockpit.engine.follow.DECLARE_AGAIN_S", 0.2)
    spool = seat.paths.spool("RUN1", 1)
    spool.parent.mkdir(parents=True, exist_ok=True)
    blocked = spool if trouble == "a file in its place" else spool / "version"
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_bytes({"another version": b"99\n", "noise": b"\xff\xfe"}.get(trouble, b""))
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.print("a", "hello\n")
        await until(lambda: "the output of job 1 cannot be kept" in engine.alert, "the alert")
        seat.world.end("a", 3)
        job = await until_state(engine, 1, "failed")
        assert not engine.is_collected(job)
        blocked.unlink()
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the last line")
        assert not engine.alert
    assert printed(seat) == b"hello"


@contextmanager
def _files_end_at(size: int) -> Iterator[None]:
    """A disk that takes part of a write: no file of this process grows beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_metrics_are_read_once_each_where_a_disk_took_half_a_write(seat: Seat) -> None:
    count, limit = 200, 1_000_000
    lines = [format_line(Metrics(n, 9.0, {"loss": 0.5})) + "\n" + "x" * 9999 for n in range(count)]
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        with _files_end_at(limit):
            seat.world.print("a", "\n".join(lines) + "\n")
            log = seat.paths.spool("RUN1", 1) / "00000-0.stdout.log"
            await until(lambda: log.exists() and log.stat().st_size == limit, "a full disk")
            asked = seat.world.links[0].followed
        assert asked <= 3
        seat.world.end("a")
        await until_state(engine, 1, "completed")
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "the last line")
    assert steps(seat) == list(range(count))
    assert log.read_bytes() == ("\n".join(lines) + "\n").encode()


async def test_a_replaced_file_that_the_spool_cannot_take_yet_is_begun_later(seat: Seat) -> None:
    first, second = (format_line(Metrics(n, 9.0, {"loss": 0.5})) + "\n" for n in (1, 2))
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        seat.world.print("a", first + "old\n")
        await until(lambda: b"old" in printed(seat), "the first file")
        await until(lambda: steps(seat) == [1], "its metric")
        table = seat.paths.spool("RUN1", 1) / "streams.jsonl"
        aside = table.rename(table.with_name("aside"))
        table.mkdir()
        seat.world.replace_log("a", second + "new\n")
        table.rmdir()
        aside.rename(table)
        with closing(Store(seat.paths.store)) as store:
            await until(lambda: b"new" in printed(seat), "the second file")
            await until(lambda: steps(seat) == [1, 2], "its metric")
            await until(lambda: store.parsed("RUN1", 1, "0.stdout")[0] > 0, "the new offset")


async def test_a_log_whose_run_is_gone_from_its_node_is_awaited_no_more(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        await until(lambda: engine.snapshot.jobs[1].parts[0].streams, "the streams")
        seat.world.cut("a")
        seat.world.end("a")
        seat.world.refuse_follow = NodeRefusal("Gone", "the run is not on node a", retry=True)
        seat.world.heal("a")
        await until_state(engine, 1, "completed")
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "it to be given up")
    assert "the end of 0.stdout on a was not read: the run is not on node a" in seat.history()


async def test_a_node_that_sends_nothing_of_an_over_run_is_awaited_for_a_while(
    seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cockpit.engine.follow.SILENCE_S", 0.2)
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        await until(lambda: engine.snapshot.jobs[1].parts[0].streams, "the streams")
        seat.world.is_silent = True
        seat.world.end("a")
        await until_state(engine, 1, "completed")
        await until(lambda: engine.is_collected(engine.snapshot.jobs[1]), "it to be given up")


async def test_a_log_on_a_node_that_left_the_inventory_is_awaited_no_more(seat: Seat) -> None:
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        await until(lambda: engine.snapshot.jobs[1].parts[0].streams, "the streams")
    seat.world = World({"b": seat.world.nodes["b"]})
    async with seat.engine() as engine:
        assert not engine.is_collected(engine.snapshot.jobs[1])
        seat.order("cancel", 1)
        await until_state(engine, 1, "completing")
        seat.order("cancel", 1, cancel_body(None, forsake=True))
        job = await until_state(engine, 1, "cancelled")
        await until(lambda: engine.is_collected(job), "it to be given up")
