"""How runs end: asked to, killed, torn down; and that nothing of them is left."""

from __future__ import annotations

import os
import shutil
import signal
import sys

from cockpit_node import leases, runs
from cockpit_node.journal import read_known
from cockpit_node.processes import lives, process, send, table
from cockpit_node.start import start_supervisor
from cockpit_node.states import run_state
from tests.node.rig import Rig, kill, until

ESCAPES = """
import os, signal, subprocess, sys, time

def stay(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    open(name, "w").write(str(os.getpid()))
    while True:
        time.sleep(1)

def nested_sessions():
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay("nested")
        os._exit(0)
    os._exit(0)

def closed_stdio():
    os.setsid()
    for descriptor in range(3):
        os.close(descriptor)
    stay("closed")

def without_marker():
    os.execve(sys.executable, [sys.executable, "-c",
        "import os, time; open('bare', 'w').write(str(os.getpid())); time.sleep(600)"], {})

def stopped():
    open("stopped", "w").write(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)

for escape in (nested_sessions, closed_stdio, without_marker, stopped):
    if os.fork() == 0:
        escape()
        os._exit(0)
print("all out", flush=True)
stay("leader")
"""
ARTISTS = ("nested", "closed", "bare", "stopped", "leader")
SAVES = """
import signal, sys, time

def end(*_):
    for at in range(20):
        open(f"checkpoint/{at}", "w").write("x" * 1000)
        time.sleep(0.2)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


def escaped(rig: Rig) -> list[int]:
    """The pids of all artists, once each has escaped."""
    until("all have escaped", lambda: all(rig.text(name) for name in ARTISTS))
    return [int(rig.text(name)) for name in ARTISTS]


def living(pids: list[int]) -> list[int]:
    """Those that are still alive, zombies not counted: they may be init's to reap."""
    return [pid for pid in pids if (row := process(pid)) is not None and row.lives]


def test_escape_artists_are_all_ended_after_the_grace(rig: Rig) -> None:
    paths = rig.start(rig.spec([sys.executable, "-c", ESCAPES], grace_s=0.5))
    pids = escaped(rig)
    assert living(pids) == pids
    runs.stop(rig.node, paths.run, paths.attempt, 0.5, "enough")
    end = rig.ended(paths)
    assert (end["stopped"], end["reason"], end["leftovers"]) == (True, "stopped: enough", 0)
    assert end["signal"] == "SIGKILL"
    assert living(pids) == []


def test_what_a_launcher_leaves_behind_is_ended_with_it(rig: Rig) -> None:
    words = "sleep 600 & setsid sleep 601 & disown -a; echo $!; exit 0"
    paths = rig.start(rig.spec(["bash", "-c", words]))
    end = rig.ended(paths)
    assert (end["code"], end["reason"], end["leftovers"]) == (0, "completed", 0)
    pid = int(rig.stream(paths, "0.stdout"))
    assert living([pid]) == []


def test_a_run_that_saves_gets_more_than_its_grace(rig: Rig) -> None:
    (rig.work / "checkpoint").mkdir()
    directory = str(rig.work / "checkpoint")
    paths = rig.start(rig.spec([sys.executable, "-c", SAVES], checkpoint_dir=directory))
    until("it is ready", lambda: "ready" in rig.stream(paths, "0.stdout"))
    runs.stop(rig.node, paths.run, paths.attempt, 1.5, "time is up")
    rig.state(paths, "stopping")
    end = rig.ended(paths)
    assert (end["code"], end["stopped"]) == (0, True)
    assert (rig.work / "checkpoint" / "19").exists()


def test_who_asks_twice_to_stop_shortens_the_grace(rig: Rig) -> None:
    words = "trap '' TERM; echo ready; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words]))
    until("it is ready", lambda: "ready" in rig.stream(paths, "0.stdout"))
    runs.stop(rig.node, paths.run, paths.attempt, 600, "when you like")
    rig.state(paths, "stopping")
    runs.stop(rig.node, paths.run, paths.attempt, 0, "now")
    end = rig.ended(paths)
    assert (end["stopped"], end["signal"], end["leftovers"]) == (True, "SIGKILL", 0)
    runs.stop(rig.node, paths.run, paths.attempt, 5, "once more")
    assert rig.ended(paths) == end


def test_stopping_one_of_two_equal_jobs_leaves_the_other(rig: Rig) -> None:
    argv = ["bash", "-c", "while true; do sleep 0.1; done"]
    first = rig.start(rig.spec(argv, run="01FIRST"))
    second = rig.start(rig.spec(argv, run="01SECOND"))
    runs.stop(rig.node, first.run, first.attempt, 1, "")
    assert rig.ended(first)["leftovers"] == 0
    assert rig.state(second, "confirmed")["processes"] >= 1
    runs.stop(rig.node, second.run, second.attempt, 1, "")
    rig.ended(second)


def test_neither_a_hangup_nor_a_second_supervisor_disturbs_a_run(rig: Rig) -> None:
    paths = rig.start(rig.spec(["bash", "-c", "echo ready; sleep 600"]))
    send(rig.supervisor(paths), signal.SIGHUP)
    start_supervisor(paths)
    beat = rig.look(paths)["beat"]
    until("another beat", lambda: rig.look(paths)["beat"] > beat)
    assert rig.look(paths)["state"] == "confirmed"
    runs.stop(rig.node, paths.run, paths.attempt, 1, "")
    assert rig.ended(paths)["signal"] == "SIGTERM"


def test_a_node_that_shuts_down_lets_the_job_save(rig: Rig) -> None:
    words = "trap 'echo saved; exit 4' TERM; echo ready; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words]))
    until("it is ready", lambda: "ready" in rig.stream(paths, "0.stdout"))
    send(rig.supervisor(paths), signal.SIGTERM)
    end = rig.ended(paths)
    assert (end["code"], end["stopped"], end["leftovers"]) == (4, True, 0)
    assert "saved" in rig.stream(paths, "0.stdout")


def test_a_run_that_is_not_confirmed_ends_itself(rig: Rig) -> None:
    paths = rig.start(rig.spec(["sleep", "600"], confirm_s=0.5), confirm=False)
    end = rig.ended(paths)
    assert (end["stopped"], end["leftovers"]) == (True, 0)
    assert "not every node had started within 0.5 s" in end["reason"]


def test_a_run_whose_directory_was_removed_ends(rig: Rig) -> None:
    words = "trap 'exit 0' TERM; echo ready; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words], units=["slot-0"]))
    supervisor = rig.supervisor(paths)
    until("it is ready", lambda: "ready" in rig.stream(paths, "0.stdout"))
    shutil.rmtree(paths.directory)
    until("the supervisor has gone", lambda: not lives(supervisor))
    assert (rig.marked(), leases.holders()) == ([], {})


def test_a_run_without_its_supervisor_is_found_and_stopped(rig: Rig) -> None:
    paths = rig.start(rig.spec([sys.executable, "-c", ESCAPES], units=["slot-0"]))
    pids = escaped(rig)
    until("all are written down", lambda: {one.pid for one in read_known(paths)} >= set(pids))
    kill(rig.supervisor(paths))
    state = rig.state(paths, "unsupervised")
    assert state["processes"] == len(ARTISTS)
    runs.stop(rig.node, paths.run, paths.attempt, 0.5, "found it")
    end = rig.ended(paths)
    assert (end["code"], end["stopped"], end["leftovers"]) == (None, True, 0)
    assert living(pids) == []


def test_a_run_without_its_supervisor_is_aborted(rig: Rig) -> None:
    paths = rig.start(rig.spec(["bash", "-c", "setsid sleep 600 & sleep 600"]))
    until("both sleep", lambda: rig.look(paths)["processes"] == 3)
    kill(rig.supervisor(paths))
    runs.abort(rig.node, paths.run, paths.attempt, "1.1")
    assert rig.marked() == []
    assert not os.path.exists(paths.directory)


def test_a_process_table_from_before_a_run_began_makes_nobody_call_it_lost(rig: Rig) -> None:
    before = table()
    paths = rig.start(rig.spec(["sleep", "600"]))
    rig.state(paths, "confirmed")
    assert run_state(paths, before)["state"] == "confirmed"
    kill(rig.supervisor(paths))
    state = run_state(paths, before)
    assert (state["state"], state["processes"]) == ("unsupervised", 1)
    runs.abort(rig.node, paths.run, paths.attempt, "1.1")


def test_a_run_that_died_with_its_supervisor_is_lost(rig: Rig) -> None:
    paths = rig.start(rig.spec(["sleep", "600"]))
    pid = rig.look(paths)["ranks"][0]["pid"]
    kill(rig.supervisor(paths))
    row = process(pid)
    assert row is not None
    kill(row.identity)
    assert rig.look(paths)["state"] == "lost"
