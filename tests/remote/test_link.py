"""A link to a real node: how it starts, what it carries, how it ends."""

from __future__ import annotations

import asyncio

import pytest

from cockpit.engine.ports import FollowEvent, LinkEnded, NodeReading, Refusal
from tests.cluster.lab import Lab
from tests.cluster.wait import until
from tests.remote.operator_seat import PATIENCE_S, Copy, Seat, config, lay_log, linked, log_of

pytestmark = pytest.mark.cluster


async def test_a_node_says_who_it_is_and_answers(lab: Lab) -> None:
    async with linked(lab, config("gpu1")) as link:
        assert link.hello["hostname"] == "gpu1"
        assert link.hello["address"] == lab.nodes["gpu1"].address
        assert link.hello["boot_id"] == lab.nodes["gpu1"].boot_id
        assert await link.request("runs", {}, 10) == {"runs": []}
        with pytest.raises(Refusal, match="no verb"):
            await link.request("dance", {}, 10)


async def test_readings_come_by_themselves(lab: Lab) -> None:
    seat = Seat()
    async with linked(lab, config("gpu1", slots=3), seat):
        second = await seat.see(NodeReading, lambda event: event.reading["seq"] >= 2)
        assert second.reading["slots"] == 3
        assert second.reading["gpu_source"] == "none"
        assert second.reading["memory"]["total_bytes"] > 0
        assert second.reading["cpu"]["used_pct"] is not None


async def test_a_log_is_followed_as_it_grows(lab: Lab) -> None:
    copy = Copy()
    async with linked(lab, config("gpu1")) as link:
        log = lay_log(lab.nodes["gpu1"], link.hello["state_root"], text="one\n")
        stream = await link.follow(log_of(), copy.take, 10)
        copy.grant = stream.grant
        await copy.until(lambda: copy.data == b"one\n")
        with log.open("ab") as file:
            file.write(b"two\xff\n" * 50_000)
        await copy.until(lambda: len(copy.data) == 4 + 250_000)
        assert copy.data == log.read_bytes()


async def test_a_followed_log_hears_that_its_link_ended(lab: Lab) -> None:
    copy, heard = Copy(), asyncio.Queue[str]()

    def take(event: FollowEvent) -> None:
        copy.take(event)
        if isinstance(event, LinkEnded):
            heard.put_nowait(event.reason)

    async with linked(lab, config("gpu1")) as link:
        lay_log(lab.nodes["gpu1"], link.hello["state_root"], text="one\n")
        await link.follow(log_of(), take, 10)
        await copy.until(lambda: copy.data == b"one\n")
        for session in lab.nodes["gpu1"].sshd_sessions():
            lab.nodes["gpu1"].kill(session)
        async with asyncio.timeout(PATIENCE_S):
            assert await heard.get() == (await link.ended).message


async def test_the_agent_ends_with_its_channel_and_leaves_nothing(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    before = {proc.comm for proc in node.processes()}
    async with linked(lab, config("gpu1")):
        assert any("serve" in proc.argv for proc in node.processes())
    until(lambda: {proc.comm for proc in node.processes()} <= before, "the agent to end")
