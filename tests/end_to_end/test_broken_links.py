"""Links that break at any moment."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest

from tests.cluster.processes import ProcessGone
from tests.cluster.wait import until
from tests.end_to_end import standin
from tests.end_to_end.world import PROJECT, World

pytestmark = pytest.mark.cluster

TALKING = """
import time
for number in range(1500):
    print("line", number, "." * (number * 37 % 211))
    time.sleep(0.01)
"""
BREAKS = 10


def test_links_that_break_at_any_moment_lose_no_byte_and_start_nothing_twice(
    running: World,
) -> None:
    standin.put(running)
    running.put("talk.py", "import os\nprint('start', file=open('starts', 'a'))\n" + TALKING)
    chance = random.Random(3)
    numbers = [
        running.submit("-N", "2", "-G", "1", *standin.OPTIONS, "--", "talk.py") for _ in range(2)
    ]
    broken = 0
    while broken < BREAKS:
        _await_moment(time.monotonic() + chance.uniform(0.0, 0.6))
        sessions = [(node, proc) for node in running.nodes for proc in node.sshd_sessions()]
        if sessions:
            node, session = chance.choice(sessions)
            with suppress(ProcessGone):
                node.kill(session)
                broken += 1
    jobs = [running.ended(number) for number in numbers]
    starts = sum(
        len(n.run(["cat", f"{PROJECT}/starts"]).stdout.splitlines()) for n in running.nodes
    )
    assert starts == 2 * sum(job["attempt"] for job in jobs), jobs
    for job in jobs:
        running.assert_collected(job)


def _await_moment(moment: float) -> None:
    until(lambda: time.monotonic() >= moment, "the moment to break a link")
