"""Nodes that do not answer, come back, or never do."""

from __future__ import annotations

from cockpit.core import events as e
from cockpit.core import watching
from cockpit.core.cluster import LinkState, Reading
from cockpit.core.effects import Confirm, Stop
from cockpit.core.jobs import JobState, Resume
from tests.core.play import FINE, STOPPED, Play, asked, failed, lab

LIVE = e.Report("RUN1", 1, "confirmed")


def running(*nodes: str) -> Play:
    play = Play(lab(*nodes))
    play.run(asked(nodes=len(nodes)))
    return play


def test_a_node_that_does_not_answer_fails_no_job() -> None:
    play = running("a", "b")
    play.cut("a")
    play.cut("b")
    play.wait(100_000)
    assert play.job().state is JobState.RUNNING
    play.heal("a")
    play.list_runs("a", LIVE)
    assert play.job().state is JobState.RUNNING
    assert play.orders == []


def test_what_happened_meanwhile_is_learned_when_it_answers_again() -> None:
    play = running("a")
    play.cut("a")
    play.heal("a")
    play.list_runs("a", e.Report("RUN1", 1, "ended", exit=FINE))
    assert play.job().state is JobState.COMPLETED


def test_a_stop_is_ordered_again_as_hard_as_it_was_when_the_node_is_back() -> None:
    play = running("a", "b")
    play.cut("b")
    play.happen(e.CancelOrdered(1, play.now, grace_s=3))
    play.see("a", "ended", STOPPED)
    play.orders.clear()
    play.heal("b")
    play.list_runs("b", LIVE)
    assert play.take(Stop) == [Stop("RUN1", 1, "b", 3, "cancelled")]


def test_a_job_whose_end_a_silent_node_holds_up_says_so_and_how_to_give_it_up() -> None:
    play = running("a", "b")
    play.cut("b")
    play.happen(e.CancelOrdered(1, play.now, grace_s=3))
    play.wait(1)
    assert play.job().phase == "no answer from b; `cockpit cancel --lost 1` gives it up"
    play.heal("b")
    play.wait(1)
    assert play.job().phase == "stopping"


def test_a_run_that_was_never_told_that_all_started_is_told_again() -> None:
    play = running("a", "b")
    play.cut("b")
    play.heal("b")
    play.list_runs("b", e.Report("RUN1", 1, "started"))
    assert play.take(Confirm) == [Confirm(play.of("b"))]


def test_a_gangs_silent_node_is_lost_after_ten_minutes_once_all_others_are_empty() -> None:
    play = running("a", "b")
    play.cut("b")
    play.see("a", "ended", failed(0, 5))
    play.wait(599)
    assert play.job().state is JobState.COMPLETING
    play.wait(2)
    assert play.job().state is JobState.NODE_FAIL


def test_a_gangs_silent_node_is_not_lost_while_a_peer_may_live() -> None:
    play = running("a", "b", "c")
    play.cut("b")
    play.see("a", "ended", failed(0, 5))
    play.wait(5000)
    assert play.job().state is JobState.COMPLETING
    play.see("c", "ended", STOPPED)
    play.wait(1)
    assert play.job().state is JobState.NODE_FAIL


def test_a_gang_whose_other_nodes_ended_well_does_not_wait_for_ever() -> None:
    play = running("a", "b")
    play.cut("b")
    play.see("a", "ended", FINE)
    play.wait(599)
    assert play.job().state is JobState.RUNNING
    play.wait(2)
    assert play.job().state is JobState.NODE_FAIL


def test_a_node_that_wavers_between_two_kinds_of_silence_is_silent_all_the_time() -> None:
    play = running("a", "b")
    play.cut("b")
    play.see("a", "ended", failed(0))
    play.wait(400)
    play.cut("b", LinkState.REFUSED)
    play.happen(e.LinkChanged("b", play.now, LinkState.CONNECTING, "connecting"))
    play.wait(201)
    assert play.job().state is JobState.NODE_FAIL


def test_a_lone_node_is_lost_only_when_a_person_says_so() -> None:
    play = running("a")
    play.cut("a")
    play.happen(e.CancelOrdered(1, play.now))
    play.wait(1_000_000)
    assert play.job().state is JobState.COMPLETING
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.CANCELLED
    play.submit(asked(2))
    assert play.job(2).reason.startswith("NodeDown")


def test_a_start_whose_node_went_silent_is_given_up_at_the_first_word() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.cut("a")
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.CANCELLED


def test_a_node_that_is_only_being_connected_is_not_called_lost() -> None:
    play = running("a")
    play.happen(e.EngineStarted(play.now))
    play.happen(e.LinkChanged("a", play.now, LinkState.CONNECTING, "connecting"))
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.COMPLETING


def test_a_node_that_answers_is_never_called_lost() -> None:
    play = running("a", "b")
    play.cut("b")
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    assert play.job().state is JobState.COMPLETING
    play.see("a", "ended", STOPPED)
    assert play.job().state is JobState.CANCELLED


def test_ranks_that_come_back_from_the_dead_are_stopped() -> None:
    play = running("a")
    play.cut("a")
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    play.orders.clear()
    play.heal("a")
    play.list_runs("a", LIVE)
    (stop,) = play.take(Stop)
    assert (stop.node, stop.attempt, stop.grace_s) == ("a", 1, 1)


def test_ranks_that_come_back_from_the_dead_are_stopped_while_the_next_attempt_waits() -> None:
    play = running("a")
    play.submit(asked(2, gpus=2))
    play.cut("a")
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    play.happen(e.RestartOrdered(1, play.now, Resume.NOTHING))
    assert (play.job().state, play.job().attempt) == (JobState.PENDING, 1)
    play.orders.clear()
    play.list_runs("a", LIVE)
    assert [stop.attempt for stop in play.take(Stop)] == [1]


def test_ranks_of_an_old_attempt_are_stopped_beside_the_new_one() -> None:
    play = running("a", "b")
    play.cut("b")
    play.happen(e.CancelOrdered(1, play.now, forsake=True))
    play.see("a", "ended", STOPPED)
    play.happen(e.RestartOrdered(1, play.now, Resume.NOTHING))
    play.heal("b")
    play.orders.clear()
    play.start_all()
    play.list_runs("b", LIVE, e.Report("RUN1", 2, "confirmed"))
    assert [stop.attempt for stop in play.take(Stop)] == [1]
    assert play.job().state is JobState.RUNNING


def test_runs_of_somebody_elses_cockpit_are_left_alone() -> None:
    play = running("a")
    play.list_runs("a", LIVE, e.Report("STRANGER", 1, "confirmed"))
    assert play.orders == []


def test_news_of_a_node_that_left_the_inventory_is_nothing() -> None:
    play = running("a")
    play.cut("x")
    play.read("x", Reading(1))
    assert set(play.cluster.nodes) == {"a"}


def test_links_are_told_to_people_once_for_each_change() -> None:
    play = Play(lab("a"))
    play.cut("a")
    play.cut("a")
    play.happen(e.LinkChanged("a", play.now, LinkState.CONNECTING, "connecting"))
    play.heal("a")
    assert play.notes == ["a is unreachable: no answer", "a is up"]


def test_a_push_that_tells_nothing_new_changes_nothing() -> None:
    play = Play(lab("a"))
    play.run(asked())
    beat = e.RunSeen("a", play.now, e.Report("RUN1", 1, "confirmed", pids=((0, 7),)))
    play.happen(beat)
    cluster, effects = watching.run_seen(play.cluster, beat)
    assert cluster is play.cluster
    assert effects == []
