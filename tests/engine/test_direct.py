"""Logs straight from the nodes, on links that end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cockpit.build.direct import lines_from
from cockpit.build.links import Look
from cockpit.build.place import Place
from cockpit.config import Config, NodeConfig
from cockpit.engine.spool import Line
from tests.engine.seat import PATIENCE_S, Seat, until, until_state
from tests.engine.world import Links, World


async def test_a_stream_that_is_followed_ends_with_its_link_and_says_so(tmp_path: Path) -> None:
    seat = Seat(tmp_path / "state", World.of("a"))
    async with seat.engine() as engine:
        seat.submit()
        await until_state(engine, 1, "running")
        await until(lambda: engine.snapshot.jobs[1].parts[0].streams, "the streams")
        job = engine.snapshot.jobs[1]
    seat.world.print("a", "hello\nhalf")
    config = Config("lab", (NodeConfig("a", "a"),), tmp_path / "cockpit.toml")
    look = Look(Place(config, None, seat.paths), Links(seat.world), None)
    look.start()
    seen: list[Line] = []
    async with asyncio.timeout(PATIENCE_S):
        async for line in lines_from(look, job, {}, follow=True):
            seen.append(line)
            if line.data == b"hello":
                seat.world.cut("a")
    await look.close()
    assert [line.data for line in seen] == [
        b"hello",
        b"half",
        b"ends here: no answer; ask again for the rest",
    ]
