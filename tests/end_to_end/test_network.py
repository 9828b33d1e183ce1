"""Nodes that fall silent, lose their power, and come back."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from tests.cluster.wait import until
from tests.end_to_end import standin
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

NOTICED_S = 15.0
BACK_S = 20.0
"""From the heal of a cut or the power to a node in use again."""
LINES = 1500
TALKING = f"""
import time
for number in range({LINES}):
    print("line", number, "." * (number * 37 % 211))
    time.sleep(0.02)
"""
ENDLESS = "import time; time.sleep(600)\n"


def test_a_silent_node_fails_no_job_and_loses_no_line(running: World) -> None:
    standin.put(running)
    running.put("talk.py", TALKING)
    number = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "talk.py")
    job = running.until_state(number, "running")
    silent = running.lab.nodes[job["nodes"][1]]
    silent.cut()
    cut = time.monotonic()
    _await_history(running, f"{silent.name} is unreachable", NOTICED_S)
    until(lambda: time.monotonic() - cut >= 20, "the whole length of the cut", 25)
    assert running.job(number)["state"] == "running"
    silent.heal()
    ended = running.ended(number)
    assert (ended["state"], ended["attempt"]) == ("completed", 1)
    running.assert_collected(job)
    for rank in range(4):
        mine = [line.partition(" ")[2] for line in running.lines(number, "--rank", str(rank))]
        assert mine == [f"line {n} {'.' * (n * 37 % 211)}" for n in range(LINES)]


def test_a_node_without_power_holds_its_job_until_a_person_calls_it_lost(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    number = running.submit(
        "-N", "2", "-G", "2", "--grace", "1", *standin.OPTIONS, "--", "endless.py"
    )
    job = running.until_state(number, "running")
    dead, living = (running.lab.nodes[name] for name in reversed(job["nodes"]))
    dead.power_off()
    _await_history(running, f"{dead.name} is unreachable", NOTICED_S)
    assert running.job(number)["state"] == "running"
    assert len(living.marked(job["run"])) >= 2

    assert running.say("cancel", str(number), "--yes").status == 0
    until(lambda: not living.marked(job["run"]), "the living node to be empty")
    words = f"no answer from {dead.name}; `cockpit cancel --lost {number}` gives it up"
    running.until_told(
        lambda: running.job(number)["phase"] == words, "the job to say what it waits for"
    )
    assert running.job(number)["state"] == "completing"

    assert running.say("cancel", str(number), "--yes", "--lost").status == 0
    assert running.ended(number, 5)["state"] == "cancelled"
    dead.power_on()
    running.put("brief.py", "print('hello')\n")
    following = running.submit("-N", "3", "-G", "2", *standin.OPTIONS, "--", "brief.py")
    assert running.ended(following)["state"] == "completed"
    running.assert_nothing_left(job)


def test_what_runs_on_after_it_was_given_up_is_ended_when_its_node_is_back(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    running.put("brief.py", "print('hello')\n")
    number = running.submit(
        "-N", "2", "-G", "2", "--grace", "1", *standin.OPTIONS, "--", "endless.py"
    )
    job = running.until_state(number, "running")
    silent = running.lab.nodes[job["nodes"][1]]
    silent.cut()
    _await_history(running, f"{silent.name} is unreachable", NOTICED_S)
    assert running.say("cancel", str(number), "--yes", "--lost").status == 0
    assert running.ended(number)["state"] == "cancelled"
    assert silent.marked(job["run"])
    silent.heal()
    following = running.submit("-N", "3", "-G", "2", *standin.OPTIONS, "--", "brief.py")
    until(lambda: not silent.marked(job["run"]), "the old ranks to be ended", BACK_S)
    assert running.ended(following)["state"] == "completed"
    running.assert_nothing_left(job)


def test_a_single_node_that_is_started_anew_ends_its_job_as_a_node_failure(running: World) -> None:
    running.put("endless.py", ENDLESS)
    number = running.submit("--", "endless.py")
    job = running.until_state(number, "running")
    node = running.lab.nodes[job["nodes"][0]]
    node.power_off()
    _await_history(running, f"{node.name} is unreachable", NOTICED_S)
    node.power_on()
    ended = running.ended(number, BACK_S)
    assert (ended["state"], ended["code"]) == ("node_fail", 1), ended
    assert node.name in ended["reason"]
    running.assert_nothing_left(job)


def _await_history(running: World, words: str, patience_s: float) -> None:
    """Until the engine wrote down a line that begins so."""
    store = running.directory / "state/cockpit/lab/store.sqlite"
    with closing(sqlite3.connect(store)) as database:
        query = "SELECT 1 FROM history WHERE text LIKE ? || '%'"
        until(lambda: database.execute(query, (words,)).fetchone(), f"`{words}`", patience_s)
