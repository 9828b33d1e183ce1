"""The engine is killed at any moment: jobs run on, start once, and lose no byte of what they print."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.wait import until
from tests.end_to_end import standin
from tests.end_to_end.world import PROJECT, World

pytestmark = pytest.mark.cluster

STARTS = f"{PROJECT}/starts"
"""On each node: one line, `<mark> <rank>`, for each start of a rank there."""
TALKING = f"""
import os, time
with open("{STARTS}", "a") as starts:
    starts.write(os.environ["COCKPIT_RUN"] + " " + os.environ["RANK"] + "\\n")
for number in range(3000):
    print("line", number, "." * (number * 37 % 211))
    if number % 10 == 0:
        time.sleep(0.02)
"""
LASTING = f"""
import os, time
{TALKING}
while not os.path.exists("{PROJECT}/release"):
    time.sleep(0.05)
"""
BRIEF = TALKING.replace("3000", "100")
KILLS = 6
INSTANTS = 8
UNDONE_S = 30.0
"""Within which a start that the engine's death broke is undone and done anew."""


def test_a_job_outlives_six_engines_with_every_byte_and_one_start(running: World) -> None:
    standin.put(running)
    running.put("talk.py", LASTING)
    number = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "talk.py")
    job = running.until_state(number, "running")
    for kill in range(1, KILLS + 1):
        _await_collected(running.spool(job), kill * 100_000)
        running.end_daemon()
        running.start_daemon()
        assert running.job(number)["state"] == "running"
    running.put("release", "")
    ended = running.ended(number)
    assert (ended["state"], ended["code"], ended["attempt"]) == ("completed", 0, 1)
    assert set(_starts(running, job).values()) == {1}
    assert len(_starts(running, job)) == 4
    running.assert_collected(job)


def test_a_gang_starts_once_whenever_the_engine_dies_on_the_way(running: World) -> None:
    standin.put(running)
    running.put("brief.py", BRIEF)
    chance = random.Random(7)
    broken: Counter[str] = Counter()
    for _ in range(INSTANTS):
        number = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "brief.py")
        _await_moment(time.monotonic() + chance.uniform(0.0, 0.8))
        running.end_daemon()
        broken[running.job(number)["state"]] += 1
        running.start_daemon()
        job = running.ended(number, UNDONE_S)
        assert (job["state"], job["code"]) == ("completed", 0), job
        starts = _starts(running, job)
        assert set(starts.values()) == {1}, starts
        last = {start for start in starts if start[0] == str(job["attempt"])}
        assert len(last) == 4, starts
        running.assert_nothing_left(job)
    assert broken["configuring"], broken


def _await_collected(spool: Path, count: int) -> None:
    def has_come() -> bool:
        return sum(file.stat().st_size for file in spool.glob("*.log")) >= count

    until(has_come, f"{count} bytes of the log")


def _await_moment(moment: float) -> None:
    until(lambda: time.monotonic() >= moment, "the moment to die")


def _starts(running: World, job: Mapping[str, Any]) -> Counter[tuple[str, str]]:
    """How often each (attempt, rank) of the job was started, by what the ranks wrote down."""
    found: Counter[tuple[str, str]] = Counter()
    for node in running.nodes:
        for line in node.run(["cat", STARTS]).stdout.splitlines():
            mark, rank = line.split()
            run, attempt, _ = mark.split("/")
            if run == job["run"]:
                found[attempt, rank] += 1
    return found
