"""An engine that is away, asleep, or not the only one."""

from __future__ import annotations

import signal
import time

import pytest

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
ENDLESS = "import time; time.sleep(600)\n"


def test_a_job_that_ends_while_no_engine_runs_is_known_to_the_next_one(running: World) -> None:
    running.put(
        "release.py",
        f"import os, time\nwhile not os.path.exists('{PROJECT}/go'):\n"
        "    time.sleep(0.05)\nprint('the last word')\nraise SystemExit(5)\n",
    )
    number = running.submit("--", "release.py")
    job = running.until_state(number, "running")
    running.end_daemon(signal.SIGTERM)
    running.put("go", "")
    node = running.lab.nodes[job["nodes"][0]]
    until(lambda: not node.marked(job["run"]), "the job to end by itself")
    said = running.say("logs", str(number))
    assert said.out == f"0@{node.name} the last word\n", said
    running.start_daemon()
    ended = running.ended(number, 20)
    assert (ended["state"], ended["code"]) == ("failed", 5)
    running.until_told(lambda: running.lines(number) == [f"0@{node.name} the last word"], "its log")


def test_the_log_of_a_job_is_read_from_its_nodes_even_if_its_engine_died_at_once(
    world: World,
) -> None:
    world.put("say.py", "print('hello'); import time; time.sleep(600)\n")
    world.start_daemon()
    number = world.submit("--", "say.py")
    until(lambda: any(node.marked() for node in world.nodes), "the job to start")
    world.end_daemon()
    world.until_told(lambda: world.lines(number)[-1:] == [f"0@{_place(world)} hello"], "its line")
    world.start_daemon()


def _place(world: World) -> str:
    (name,) = [node.name for node in world.nodes if node.marked()]
    return name


def test_orders_given_while_no_engine_runs_are_carried_out_by_the_next_one(running: World) -> None:
    running.put("endless.py", ENDLESS)
    number = running.submit("--", "endless.py")
    running.until_state(number, "running")
    assert running.end_daemon(signal.SIGTERM) == 0
    said = running.say("cancel", str(number), "--yes", "--grace", "0")
    assert "no engine is running, so the order waits" in said.err
    waiting = running.submit("--", "true")
    assert running.job(waiting)["reason"].startswith("EngineDown: no engine is running; start ")
    running.start_daemon()
    assert running.ended(number, 20)["state"] == "cancelled"
    assert running.ended(waiting, 20)["state"] == "completed"


def test_a_second_engine_of_one_cluster_is_refused(running: World) -> None:
    said = running.say("daemon")
    assert said.status == 2
    assert said.err.startswith("cockpit: an engine of cluster lab runs: ")


def test_an_engine_that_sleeps_and_wakes_goes_on_where_it_was(running: World) -> None:
    standin.put(running)
    running.put("talk.py", TALKING)
    number = running.submit("-N", "3", "-G", "1", *standin.OPTIONS, "--", "talk.py")
    job = running.until_state(number, "running")
    asleep = time.monotonic()
    running.signal_daemon(signal.SIGSTOP)
    until(lambda: time.monotonic() - asleep > 14, "a sleep that no link outlives", 25)
    running.signal_daemon(signal.SIGCONT)
    ended = running.ended(number)
    assert (ended["state"], ended["attempt"]) == ("completed", 1)
    running.assert_collected(job)
