"""What keeps a job from being watched over or from ending is said, and a person has a way out."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core import events as e
from cockpit.core.cluster import Lease
from cockpit.core.effects import Stop
from cockpit.core.jobs import JobState, PartState
from cockpit.core.trouble import GRACE_STRETCH
from cockpit_node import environment
from tests.core.play import STOPPED, Play, asked, failed, lab

LIVE = e.Report("RUN1", 1, "confirmed")
UNKNOWN = e.Report("RUN1", 1, "unknown", message="sup.json: Input/output error")
WAY_OUT = "; `cockpit cancel --lost 1` gives it up"


def running(*nodes: str) -> Play:
    play = Play(lab(*nodes))
    play.run(asked(nodes=len(nodes)))
    return play


def removed(play: Play, name: str) -> None:
    """A new engine, whose inventory has the node no more."""
    nodes = {other: node for other, node in play.cluster.nodes.items() if other != name}
    play.cluster = replace(play.cluster, nodes=nodes)
    play.happen(e.EngineStarted(play.now))
    play.wait(1)


def test_a_job_whose_keeper_was_killed_says_so_until_it_is_kept_again() -> None:
    play = running("a", "b")
    play.see("b", "unsupervised")
    words = "unsupervised on b: its keeper was killed; cancel or restart ends it"
    assert play.job().reason == words
    play.happen(e.MetricsLogged("RUN1", 1, 5, {"loss": 2.0}))
    play.wait(1)
    assert play.job().reason == words
    play.see("b", "confirmed")
    assert play.job().reason == ""


def test_a_lost_run_says_what_its_node_says_of_it_and_guesses_nothing() -> None:
    play = running("a")
    play.happen(e.RunSeen("a", play.now, replace(LIVE, state="lost", message="another boot")))
    assert play.job().reason == "a: another boot"


def test_a_job_that_ended_well_after_its_keeper_was_killed_forgets_the_trouble() -> None:
    play = running("a")
    play.see("a", "unsupervised")
    play.see("a", "ended", STOPPED)
    assert "unsupervised" not in play.job().reason


def test_a_node_that_cannot_tell_how_a_run_stands_says_why_and_can_be_given_up() -> None:
    play = running("a")
    play.list_runs("a", UNKNOWN)
    expected = "a cannot tell how it stands (sup.json: Input/output error)"
    assert (play.job().state, play.job().reason) == (JobState.RUNNING, expected)
    play.happen(e.CancelOrdered(1, play.now))
    play.wait(1)
    assert play.job().phase == expected + WAY_OUT
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.CANCELLED


def test_a_node_that_can_tell_again_is_not_given_up() -> None:
    play = running("a")
    play.list_runs("a", UNKNOWN)
    play.list_runs("a", LIVE)
    assert play.job().reason == ""
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.COMPLETING


def test_nobody_is_invited_to_give_up_a_run_that_may_still_be_saving() -> None:
    assert GRACE_STRETCH == environment.GRACE_STRETCH
    play = running("a")
    play.happen(e.CancelOrdered(1, play.now, grace_s=30))
    play.wait(30 * GRACE_STRETCH + 59)
    assert "--lost" not in play.job().phase
    play.happen(e.CancelOrdered(1, play.now, grace_s=30, forsake=True))
    assert play.job().state is JobState.COMPLETING


def test_a_stop_that_a_node_does_not_finish_can_be_given_up_a_minute_after_its_last_grace() -> None:
    play = running("a")
    play.happen(e.CancelOrdered(1, play.now, grace_s=5))
    play.wait(109)
    play.happen(e.CancelOrdered(1, play.now, grace_s=5, forsake=True))
    assert play.job().state is JobState.COMPLETING
    play.wait(2)
    assert play.job().phase == "a does not end it" + WAY_OUT
    play.happen(e.CancelOrdered(1, play.now, grace_s=5, forsake=True))
    assert play.job().state is JobState.CANCELLED


def test_a_new_engine_counts_the_time_of_a_stop_anew() -> None:
    play = running("a")
    play.happen(e.CancelOrdered(1, play.now, grace_s=5))
    play.cluster = replace(play.cluster, now=replace(play.now, mono=1e6))
    play.happen(e.EngineStarted(play.now))
    play.happen(e.CancelOrdered(1, play.now, grace_s=5, forsake=True))
    assert play.job().state is JobState.COMPLETING


def test_what_is_left_of_a_job_that_was_given_up_keeps_its_units() -> None:
    play = running("a")
    play.list_runs("a", UNKNOWN)
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    reading = play.cluster.nodes["a"].reading
    assert reading is not None
    unit = play.job().parts[0].units[0]
    play.read("a", replace(reading, leases=(Lease(unit, "RUN1", 1, "me", "job1"),)))
    play.submit(asked(2, gpus=2))
    assert "what is left of job 1 on a" in play.job(2).reason
    play.read("a", replace(reading, leases=()))
    assert play.job(2).state is JobState.CONFIGURING


def test_a_job_on_a_node_that_left_the_inventory_says_so_and_can_be_given_up() -> None:
    play = running("a")
    removed(play, "a")
    assert play.job().reason == "a is not in cockpit.toml any more"
    play.happen(e.CancelOrdered(1, play.now))
    play.wait(1)
    assert play.job().phase == "a is not in cockpit.toml any more" + WAY_OUT
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.CANCELLED


def test_a_gangs_node_that_left_the_inventory_is_lost_by_time_like_a_silent_one() -> None:
    play = running("a", "b")
    removed(play, "b")
    play.see("a", "ended", failed(0))
    play.wait(590)
    assert play.job().state is JobState.COMPLETING
    play.wait(20)
    assert play.job().state is JobState.NODE_FAIL


def test_a_list_that_was_cut_proves_nothing_by_what_is_absent() -> None:
    play = running("a")
    play.happen(e.RunsListed("a", play.now, (), is_whole=False))
    play.happen(e.RunsListed("a", play.now, (), of=frozenset({("OTHER", 1)})))
    assert play.job().parts[0].state is PartState.STARTED
    play.happen(e.RunsListed("a", play.now, (), of=frozenset({("RUN1", 1)})))
    assert play.job().state is JobState.NODE_FAIL


def test_a_stop_is_still_given_to_a_node_whose_part_was_given_up() -> None:
    play = running("a")
    play.list_runs("a", UNKNOWN)
    play.orders.clear()
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert [stop.node for stop in play.take(Stop)] == ["a"]
