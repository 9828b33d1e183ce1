"""What the link survives: killed sessions, cut cables, scarce channels."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time

import pytest

from cockpit.engine.ports import NodeDown, NodeReading, NodeUp, Unreachable
from cockpit_remote.nodes import SshNodes
from tests.cluster.lab import Lab
from tests.remote.operator_seat import (
    CREDIT,
    Copy,
    Seat,
    config,
    keeping,
    lay_log,
    linked,
    log_of,
)

pytestmark = pytest.mark.cluster

KILLS = 5


async def _follow_on(nodes: SshNodes, copy: Copy) -> None:
    """Follow from where the copy ends."""
    handle = await nodes.follow("gpu1", log_of(len(copy.data)), copy.take)
    copy.grant = handle.grant


async def test_a_log_is_byte_identical_over_killed_sessions(lab: Lab) -> None:
    node, seat, copy = lab.nodes["gpu1"], Seat(), Copy()
    async with keeping(lab, seat, config("gpu1")) as nodes:
        up = await seat.see(NodeUp)
        log = lay_log(node, up.hello["state_root"])
        for _ in range(KILLS):
            await _follow_on(nodes, copy)
            with log.open("ab") as file:
                file.write(os.urandom(2_000_000))
            since = len(seat.events)
            await copy.more_than(len(copy.data))
            for session in node.sshd_sessions():
                node.kill(session)
            await seat.see(NodeDown, since=since)
            await seat.see(NodeUp, since=since)
        await _follow_on(nodes, copy)
        written = log.read_bytes()
        await copy.until(lambda: len(copy.data) == len(written))
        assert copy.sha256 == hashlib.sha256(written).hexdigest()


async def test_a_silent_cut_is_noticed_and_healed(lab: Lab) -> None:
    node, seat = lab.nodes["gpu1"], Seat()
    async with keeping(lab, seat, config("gpu1"), config("gpu2")) as nodes:
        await seat.see(NodeUp, lambda event: event.node == "gpu1")
        await seat.see(NodeUp, lambda event: event.node == "gpu2")
        node.cut()
        cut_at, since = time.monotonic(), len(seat.events)
        down = await seat.see(NodeDown, since=since)
        assert down.node == "gpu1"
        assert not down.needs_person
        assert time.monotonic() - cut_at <= 15
        with pytest.raises(Unreachable):
            await nodes.request("gpu1", "runs", {}, 5)
        assert await nodes.request("gpu2", "runs", {}, 5) == {"runs": []}
        node.heal()
        healed_at = time.monotonic()
        await seat.see(NodeUp, since=since)
        assert time.monotonic() - healed_at <= 6


async def test_one_session_a_connection_is_enough(lab: Lab) -> None:
    lab.nodes["gpu1"].configure_sshd("MaxSessions 1")
    seat = Seat()
    async with keeping(lab, seat, config("gpu1")) as nodes:
        up = await seat.see(NodeUp)
        lay_log(lab.nodes["gpu1"], up.hello["state_root"], text="all of it")
        copy = Copy()
        await nodes.follow("gpu1", log_of(), copy.take)
        await copy.until(lambda: copy.data == b"all of it")
        await seat.see(NodeReading)


async def test_a_stream_without_credit_delays_nothing(lab: Lab) -> None:
    node, seat, starved, fed = lab.nodes["gpu1"], Seat(), Copy(), Copy()
    async with linked(lab, config("gpu1"), seat) as link:
        log = lay_log(node, link.hello["state_root"], text="x" * 5_000_000)
        stuck = await link.follow(log_of(credit=1000), starved.take, 10)
        stream = await link.follow(log_of(credit=CREDIT), fed.take, 10)
        fed.grant = stream.grant
        await fed.until(lambda: len(fed.data) == 5_000_000)
        started = time.monotonic()
        await link.request("runs", {}, 5)
        assert time.monotonic() - started < 1
        await seat.see(NodeReading, since=len(seat.events))
        assert len(starved.data) == 1000
        starved.grant = stuck.grant
        stuck.grant(CREDIT)
        await starved.until(lambda: bytes(starved.data) == log.read_bytes())


async def test_control_overtakes_a_flood_of_logs(lab: Lab) -> None:
    copy = Copy()
    async with linked(lab, config("gpu1")) as link:
        lay_log(lab.nodes["gpu1"], link.hello["state_root"], text="x" * 64_000_000)
        stream = await link.follow(log_of(), copy.take, 10)
        copy.grant = stream.grant
        await copy.until(lambda: len(copy.data) > 1_000_000)
        started = time.monotonic()
        await link.request("runs", {}, 10)
        assert time.monotonic() - started < 1
        assert len(copy.data) < 64_000_000
        await stream.close()
        await link.request("runs", {}, 10)
        seen = len(copy.data)
        await link.request("runs", {}, 10)
        assert len(copy.data) == seen


async def test_a_replaced_log_begins_anew_and_says_so(lab: Lab) -> None:
    copy = Copy()
    async with linked(lab, config("gpu1")) as link:
        log = lay_log(lab.nodes["gpu1"], link.hello["state_root"], text="a long first life\n")
        await link.follow(log_of(), copy.take, 10)
        await copy.until(lambda: copy.data)
        log.write_bytes(b"second\n")
        await copy.until(lambda: copy.data == b"second\n")
        assert "shrank" in copy.replacements[0]
        other = log.with_suffix(".new")
        other.write_bytes(b"third, by rename\n")
        other.rename(log)
        await copy.until(lambda: copy.data == b"third, by rename\n")
        assert "replaced" in copy.replacements[1]


async def test_a_log_that_is_not_there_yet_is_waited_for(lab: Lab) -> None:
    copy = Copy()
    async with linked(lab, config("gpu1")) as link:
        await link.follow(log_of(), copy.take, 10)
        lay_log(lab.nodes["gpu1"], link.hello["state_root"], text="at last\n")
        await copy.until(lambda: copy.data == b"at last\n")


async def test_many_nodes_of_one_inventory_fail_apart(lab: Lab) -> None:
    seat = Seat()
    lab.nodes["gpu2"].stop_sshd()
    async with keeping(lab, seat, config("gpu1"), config("gpu2"), config("nowhere")) as nodes:
        await seat.see(NodeUp, lambda event: event.node == "gpu1")
        refused = await seat.see(NodeDown, lambda event: event.node == "gpu2")
        assert "is sshd running there?" in refused.error
        unknown = await seat.see(NodeDown, lambda event: event.node == "nowhere")
        assert "no address is known" in unknown.error
        lab.nodes["gpu2"].start_sshd()
        nodes.retry()
        await seat.see(NodeUp, lambda event: event.node == "gpu2")
        await asyncio.gather(*(nodes.request(n, "runs", {}, 10) for n in ("gpu1", "gpu2")))
