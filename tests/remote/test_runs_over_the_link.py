"""A run from prepare to its last byte, over a real link to a real node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cockpit.engine.ports import NodeReading, Refusal, RunReported
from cockpit_remote.link import Link
from tests.cluster.lab import Lab
from tests.remote.operator_seat import PYTHON_3_8, RUN, Copy, Seat, config, linked, log_of

pytestmark = pytest.mark.cluster

AT = {"run": RUN, "attempt": 1}


def spec(script: str, **fields: Any) -> dict[str, Any]:
    """A job of one process on slot 0 of gpu1."""
    return {
        "version": 1,
        "run": RUN,
        "attempt": 1,
        "claim": "first",
        "node": "gpu1",
        "node_rank": 0,
        "nnodes": 1,
        "nproc": 1,
        "name": "llama",
        "user": "me",
        "launcher": "plain",
        "argv": ["sh", "-c", script],
        "port_at": None,
        "setup": "",
        "env": {},
        "workdir": "/home/lab",
        "script": None,
        "program": "sh",
        "units": ["slot-0"],
        "cuda_devices": "",
        "checkpoint_dir": None,
        "resume": None,
        "grace_s": 5,
        "confirm_s": 30,
        **fields,
    }


async def _start(link: Link, job: dict[str, Any]) -> None:
    prepared = await link.request("prepare", {"spec": job}, 60)
    await link.request("go", {**AT, "port": prepared["port"]}, 30)
    await link.request("confirm", AT, 10)


OLDEST = pytest.param(
    PYTHON_3_8,
    marks=pytest.mark.skipif(not Path(PYTHON_3_8).exists(), reason="no Python 3.8 here"),
)


@pytest.mark.parametrize("python", [None, OLDEST])
async def test_a_run_reports_each_state_and_its_log_to_the_last_byte(
    lab: Lab, python: str | None
) -> None:
    seat, copy = Seat(), Copy()
    async with linked(lab, config("gpu1", python=python), seat) as link:
        await _start(link, spec("echo begun; sleep 1; printf 'no newline at the end'; exit 3"))
        stream = await link.follow(log_of(), copy.take, 10)
        copy.grant = stream.grant
        ended = await seat.see(RunReported, lambda event: event.state["state"] == "ended")
        assert ended.state["exit"]["code"] == 3
        assert ended.state["exit"]["leftovers"] == 0
        await copy.until(lambda: copy.ended is not None)
        assert copy.data == b"begun\nno newline at the end"
        assert copy.ended == len(copy.data)
        states = [event.state["state"] for event in seat.events if isinstance(event, RunReported)]
        assert states[-1] == "ended"
        assert "confirmed" in states
        assert (await link.request("runs", {}, 10))["runs"][0]["state"] == "ended"
        assert (await link.request("runs", {"of": []}, 10))["runs"] == []
        of = {"of": [[AT["run"], AT["attempt"]], ["01UNKNOWN", 1]]}
        assert (await link.request("runs", of, 10))["runs"][0]["state"] == "ended"


async def test_words_and_variables_that_are_no_utf_8_arrive_byte_for_byte(lab: Lab) -> None:
    words = [b"caf\xe9", b"\xff\xfe", "\ud83d\ude00 grüß".encode("utf-8", "surrogatepass")]
    sent = [word.decode("utf-8", "surrogateescape") for word in words]
    tells = 'printf "%s\\0" "$@" "$WORD"; pwd'
    workdir = b"/tmp/caf\xe9".decode("utf-8", "surrogateescape")
    lab.nodes["gpu1"].run(["sh", "-c", "mkdir $(printf '/tmp/caf\\351')"])
    copy = Copy()
    job = spec("", argv=["sh", "-c", tells, "sh", *sent], env={"WORD": sent[1]}, workdir=workdir)
    async with linked(lab, config("gpu1")) as link:
        await _start(link, job)
        stream = await link.follow(log_of(), copy.take, 10)
        copy.grant = stream.grant
        await copy.until(lambda: copy.ended is not None)
    assert copy.data == b"\0".join([*words, words[1], b"/tmp/caf\xe9\n"])


async def test_a_lease_shows_in_the_readings_and_ends_with_its_run(lab: Lab) -> None:
    seat = Seat()
    async with linked(lab, config("gpu1", slots=2), seat) as link:
        await _start(link, spec("sleep 600"))
        held = await seat.see(NodeReading, lambda event: bool(event.reading["leases"]))
        lease = held.reading["leases"][0]
        assert (lease["unit"], lease["run"], lease["name"]) == ("slot-0", RUN, "llama")
        other = spec("true", run=RUN[:-1] + "B")
        with pytest.raises(Refusal, match="llama") as busy:
            await link.request("prepare", {"spec": other}, 60)
        assert (busy.value.code, busy.value.retry) == ("Busy", True)
        await link.request("stop", {**AT, "grace_s": 1, "reason": "enough"}, 10)
        ended = await seat.see(RunReported, lambda event: event.state["state"] == "ended")
        assert ended.state["exit"]["stopped"]
        since = len(seat.events)
        await seat.see(NodeReading, lambda event: not event.reading["leases"], since)


async def test_a_run_outlives_its_link_and_is_found_by_the_next(lab: Lab) -> None:
    seat, copy = Seat(), Copy()
    async with linked(lab, config("gpu1")) as link:
        await _start(link, spec("for i in 1 2 3 4; do echo $i; sleep 0.5; done"))
    async with linked(lab, config("gpu1"), seat) as link:
        stream = await link.follow(log_of(), copy.take, 10)
        copy.grant = stream.grant
        await copy.until(lambda: copy.ended is not None)
        assert copy.data == b"1\n2\n3\n4\n"


async def test_a_refused_start_can_be_tried_again_and_is_watched_again(lab: Lab) -> None:
    seat = Seat()
    async with linked(lab, config("gpu1"), seat) as link:
        await link.request("prepare", {"spec": spec("true")}, 60)
        await link.request("abort", {**AT, "claim": "first"}, 60)
        await _start(link, spec("exit 4", claim="second"))
        ended = await seat.see(RunReported, lambda event: event.state["state"] == "ended")
        assert ended.state["exit"]["code"] == 4


async def test_a_gpu_run_on_simulated_gpus_shows_in_their_figures(lab: Lab) -> None:
    lab.nodes["gpu1"].set_environment({"COCKPIT_NODE_SIMULATED_GPUS": "2"})
    seat = Seat()
    async with linked(lab, config("gpu1"), seat) as link:
        await _start(link, spec("sleep 600", units=["SIM-gpu1-1"]))
        busy = await seat.see(
            NodeReading,
            lambda event: (
                len(event.reading["gpus"]) == 2 and event.reading["gpus"][1]["used_pct"] > 50
            ),
        )
        idle, used = busy.reading["gpus"]
        assert (idle["uuid"], used["uuid"]) == ("SIM-gpu1-0", "SIM-gpu1-1")
        assert idle["simulated"]
        assert idle["used_pct"] == 0
        assert busy.reading["slots"] is None
        await link.request("abort", {**AT, "claim": "first"}, 60)
