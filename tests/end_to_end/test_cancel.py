"""Cancelling a job leaves no process of it anywhere, however its processes cling to life."""

from __future__ import annotations

import time

import pytest

from tests.cluster.wait import until
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.torch]

GRACE_S = 2
CLINGING = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", os.environ["RANK"], flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM HUP INT; sleep 600 & wait; sleep 600"])
time.sleep(600)
"""


def test_a_cancelled_job_leaves_no_process_on_any_node(running: World) -> None:
    running.put("cling.py", CLINGING)
    number = running.submit("-N", "2", "-G", "2", "--grace", str(GRACE_S), "--", "cling.py")
    job = running.until_state(number, "running")
    running.until_told(
        lambda: sum(" ready " in line for line in running.lines(number)) == 4, "four ranks", 60
    )
    until(
        lambda: all(
            sum(proc.comm == "sleep" for proc in running.lab.nodes[name].marked(job["run"])) >= 4
            for name in job["nodes"]
        ),
        "the children of all ranks",
    )
    ordered = time.monotonic()
    assert running.say("cancel", str(number), "--yes").status == 0
    job = running.ended(number)
    took_s = time.monotonic() - ordered
    assert (job["state"], job["code"], job["reason"]) == ("cancelled", 130, "cancelled")
    running.assert_nothing_left(job)
    assert GRACE_S <= took_s < GRACE_S + 5, took_s


def test_a_waiting_job_is_cancelled_without_ever_starting(running: World) -> None:
    running.put("hold.py", "import time; time.sleep(600)\n")
    holder = running.submit("-N", "3", "-G", "2", "--", "hold.py")
    running.until_state(holder, "running")
    waiting = running.submit("--", "sh", "-c", "echo started > started")
    running.until_state(waiting, "pending")
    assert running.say("cancel", str(waiting), "--yes").status == 0
    assert running.ended(waiting)["state"] == "cancelled"
    assert running.say("cancel", str(holder), "--yes", "--grace", "0").status == 0
    assert running.ended(holder)["state"] == "cancelled"
    for node in running.nodes:
        assert node.run(["ls", "/home/lab/project"]).stdout.split() == ["README", "hold.py"]


def test_cancelling_a_job_that_is_not_there_says_so(world: World) -> None:
    said = world.say("cancel", "7", "--yes")
    assert said.status == 2
    assert said.err == "cockpit: there is no job 7 in cluster lab; nothing was submitted yet\n"
