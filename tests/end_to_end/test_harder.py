"""Engines that are away, asleep or not alone, links that break at any moment, and keepers that die."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.cluster.lab import Lab
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
ENDLESS = "import time; time.sleep(600)\n"
EXCLUSIVE = f"""
import fcntl, json, os, time
place = os.path.dirname(os.environ["COCKPIT_CHECKPOINT_DIR"])
(unit,) = json.load(open(place + "/1/spec.json"))["units"]
lock = open(f"{PROJECT}/{{unit}}.lock", "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(f"{PROJECT}/collisions", "a").write(unit + "\\n")
open(f"{PROJECT}/used", "a").write(unit + "\\n")
time.sleep(0.5)
"""


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
    until(lambda: running.lines(number) == [f"0@{node.name} the last word"], "its log")


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
    until(lambda: time.monotonic() - asleep > 20, "a long sleep", 25)
    running.signal_daemon(signal.SIGCONT)
    ended = running.ended(number)
    assert (ended["state"], ended["attempt"]) == ("completed", 1)
    until(lambda: not running.uncollected(job), f"all bytes: {running.uncollected(job)}")


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
    while not all(running.job(number)["state"] == "completed" for number in numbers):
        for node in running.nodes:
            for session in node.sshd_sessions():
                if chance.random() < 0.5:
                    try:
                        node.kill(session)
                        broken += 1
                    except ProcessGone:
                        continue
    jobs = [running.ended(number) for number in numbers]
    assert broken > 20, broken
    starts = sum(
        len(n.run(["cat", f"{PROJECT}/starts"]).stdout.splitlines()) for n in running.nodes
    )
    assert starts == 2 * sum(job["attempt"] for job in jobs), jobs
    for job in jobs:
        until(lambda job=job: not running.uncollected(job), "all bytes")  # type: ignore[misc]


def test_a_job_whose_keeper_was_killed_can_still_be_ended(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    number = running.submit(
        "-N", "2", "-G", "2", "--grace", "1", *standin.OPTIONS, "--", "endless.py"
    )
    job = running.until_state(number, "running")
    node = running.lab.nodes[job["nodes"][1]]
    (keeper,) = [proc for proc in node.processes() if "supervise" in proc.argv]
    node.kill(keeper)
    assert len(node.marked(job["run"])) >= 2
    assert running.say("cancel", str(number), "--yes").status == 0
    assert running.ended(number, 20)["state"] == "cancelled"
    running.assert_nothing_left(job)


def test_a_killed_launcher_takes_its_ranks_and_its_peers_along(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    number = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "endless.py")
    job = running.until_state(number, "running")
    node = running.lab.nodes[job["nodes"][0]]
    (launcher,) = [p for p in node.marked(job["run"]) if "torch.distributed.run" in p.argv]
    node.kill(launcher)
    ended = running.ended(number, 15)
    assert (ended["state"], ended["code"]) == ("failed", 137), ended
    assert "SIGKILL" in ended["reason"]
    assert node.name in ended["reason"]
    running.assert_nothing_left(job)


def test_two_cockpits_share_the_slots_of_one_cluster(lab: Lab, tmp_path: Path) -> None:
    worlds = []
    for name in ("mine", "yours"):
        (tmp_path / name).mkdir()
        worlds.append(World(lab, tmp_path / name))
    try:
        for world in worlds:
            world.start_daemon()
        worlds[0].put("exclusive.py", EXCLUSIVE)
        for _ in range(9):
            for world in worlds:
                world.submit("--", "exclusive.py")
        for world in worlds:
            said = world.say("wait", *map(str, range(1, 10)), "--timeout", "90", timeout_s=120)
            assert said.status == 0, (said, world.daemon_log[-2000:])
        used = [node.run(["cat", f"{PROJECT}/used"]).stdout.split() for node in worlds[0].nodes]
        assert sum(map(len, used)) == 18
        for node in worlds[0].nodes:
            assert node.run(["cat", f"{PROJECT}/collisions"]).stdout == ""
    finally:
        for world in worlds:
            world.close()
