"""How a gang starts: all or nothing, in two phases, and taken back whole."""

from __future__ import annotations

import pytest

from cockpit.core import events as e
from cockpit.core.cluster import Moment
from cockpit.core.effects import Abort, Confirm, Go, Prepare
from cockpit.core.jobs import JobState, PartState
from tests.core.play import FINE, STOPPED, Play, asked, failed, lab, specs, without


def test_a_gang_waits_until_all_its_nodes_have_room() -> None:
    play = Play(without(lab("a", "b"), "b"))
    play.submit(asked(nodes=2, gpus=2))
    assert play.take(Prepare) == []
    assert play.job().state is JobState.PENDING
    assert play.job().reason == "NodeDown: needs 2x2; b does not answer"
    play.heal("b")
    assert specs(play.take(Prepare)) == {"a": 0, "b": 1}
    assert play.job().state is JobState.CONFIGURING


def test_a_gang_goes_only_when_every_node_is_prepared_and_with_the_port_of_rank_0() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.take(Prepare)
    play.happen(e.Prepared(play.of("b"), None))
    assert play.take(Go) == []
    assert play.job().phase == "preparing 1/2 nodes"
    play.happen(e.Prepared(play.of("a"), 29555))
    assert play.take(Go) == [Go(play.of("a"), 29555), Go(play.of("b"), 29555)]


def test_all_are_told_once_all_have_started_and_not_before() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.prepare_all()
    play.orders.clear()
    play.happen(e.Started(play.of("a"), play.now))
    assert play.take(Confirm) == []
    play.happen(e.Started(play.of("b"), play.now))
    assert [order.of.node for order in play.take(Confirm)] == ["a", "b"]
    assert play.job().state is JobState.RUNNING
    assert play.job().home == "a"


def test_an_answer_that_comes_twice_counts_once() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    for _ in range(2):
        play.happen(e.Prepared(play.of("a"), 29555))
    assert play.take(Prepare) != []
    assert play.job().parts[1].state is PartState.ASKED
    play.happen(e.Prepared(play.of("b"), None), e.Prepared(play.of("b"), None))
    assert len(play.take(Go)) == 2


def test_one_refusal_takes_all_back_and_costs_no_attempt() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.orders.clear()
    first = play.of("a")
    play.happen(e.Prepared(first, 29555))
    play.happen(e.StartRefused(play.of("b"), play.now, "Busy: GPU 0 is eve's", retry=True))
    assert [order.of.node for order in play.take(Abort)] == ["a", "b"]
    assert play.job().state is JobState.COMPLETING
    play.undo_all()
    assert play.job().state is JobState.PENDING
    assert play.job().attempt == 0
    assert "eve" in play.job().reason
    assert play.take(Prepare) == []
    play.wait(6)
    assert len(play.take(Prepare)) == 2
    assert play.job().attempt == 1
    assert play.job().claim != first.claim


def test_a_refusal_that_waiting_cannot_cure_fails_the_job() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.happen(e.StartRefused(play.of("a"), play.now, "NoScript: /work/train.py", retry=False))
    play.undo_all()
    assert play.job().state is JobState.FAILED
    assert play.job().reason == "a: NoScript: /work/train.py"
    assert (play.job().code, play.job().attempt) == (1, 0)


def test_answers_of_a_try_that_was_taken_back_change_nothing() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    old = {node: play.of(node) for node in "ab"}
    play.happen(e.StartRefused(old["b"], play.now, "Port: none is free", retry=True))
    play.undo_all()
    play.wait(6)
    play.orders.clear()
    play.happen(e.Prepared(old["a"], 1), e.Prepared(old["b"], 2), e.Started(old["a"], play.now))
    play.happen(
        e.StartRefused(old["a"], play.now, "late", retry=False), e.Undone(old["a"], play.now)
    )
    assert play.take(Go) == []
    assert all(part.state is PartState.ASKED for part in play.job().parts)


def test_a_start_without_an_answer_after_go_is_taken_back_and_costs_its_number() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.prepare_all()
    play.happen(e.Started(play.of("a"), play.now))
    play.orders.clear()
    play.happen(e.StartRefused(play.of("b"), play.now, "no answer", retry=True))
    assert [order.of.node for order in play.take(Abort)] == ["a", "b"]
    play.see("a", "ended", STOPPED)
    assert play.job().state is JobState.COMPLETING
    play.undo_all()
    assert (play.job().state, play.job().attempt) == (JobState.PENDING, 1)
    play.wait(6)
    assert {order.spec["attempt"] for order in play.take(Prepare)} == {2}


def test_a_run_that_says_it_started_needs_no_answer_to_go() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.prepare_all()
    play.orders.clear()
    play.see("a", "started")
    assert play.job().state is JobState.RUNNING
    assert len(play.take(Confirm)) == 1
    play.happen(e.StartRefused(play.of("a"), play.now, "no answer", retry=True))
    assert play.job().state is JobState.RUNNING


def test_a_script_that_ends_before_its_go_is_answered_is_not_run_twice() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.prepare_all()
    play.see("a", "ended", FINE)
    assert (play.job().state, play.job().code) == (JobState.COMPLETED, 0)


def test_a_rank_that_dies_while_its_peers_start_fails_the_job_once_they_have() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.prepare_all()
    play.see("a", "ended", failed(0, 3))
    assert play.job().state is JobState.CONFIGURING
    play.happen(e.Started(play.of("b"), play.now))
    assert play.job().state is JobState.COMPLETING
    play.see("b", "ended", STOPPED)
    assert (play.job().state, play.job().code) == (JobState.FAILED, 3)


def test_what_an_older_claim_left_says_nothing_of_a_start_that_is_being_prepared() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.see("a", "ended", STOPPED)
    assert play.job().parts[0].state is PartState.ASKED


def test_an_engine_that_starts_takes_back_what_was_not_complete() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.prepare_all()
    play.orders.clear()
    play.happen(e.EngineStarted(play.now))
    assert [order.of.node for order in play.take(Abort)] == ["a", "b"]
    play.undo_all()
    assert {order.spec["attempt"] for order in play.take(Prepare)} == {2}


def test_an_engine_that_starts_gives_nodes_time_before_it_takes_silence_for_proof() -> None:
    play = Play(without(lab("a", "b"), "b"))
    play.submit(asked(nodes=1))
    play.wait(5000)
    play.happen(e.EngineStarted(play.now))
    play.cut("a")
    play.happen(e.Ticked(play.now))
    assert play.job().state is JobState.COMPLETING
    play.wait(119)
    assert play.job().state is JobState.COMPLETING
    play.wait(2)
    assert play.job().state is JobState.PENDING


def test_a_moment_of_a_clock_that_a_reboot_set_back_holds_nobody_back() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.happen(e.StartRefused(play.of("a"), play.now, "Disk: full", retry=True))
    play.undo_all()
    assert play.job().retry_at > play.now.mono
    play.orders.clear()
    play.happen(e.EngineStarted(Moment(play.now.wall, 1.0)))
    assert len(play.take(Prepare)) == 1


@pytest.mark.parametrize("go", [False, True])
def test_a_start_on_a_node_that_went_away_ends_by_the_nodes_own_clock(go: bool) -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    if go:
        play.prepare_all()
    else:
        play.happen(e.Prepared(play.of("b"), None))
    play.cut("b")
    play.happen(e.StartRefused(play.of("b"), play.now, "no answer", retry=True))
    play.happen(e.Undone(play.of("a"), play.now))
    play.wait(119)
    assert play.job().state is JobState.COMPLETING
    play.wait(2)
    assert play.job().state is JobState.PENDING
    assert play.job().attempt == 1, "what is left there may still hold the number"


def test_a_node_that_comes_back_is_told_again_to_undo() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.happen(e.Prepared(play.of("b"), None))
    play.cut("b")
    play.happen(e.StartRefused(play.of("b"), play.now, "no answer", retry=True))
    play.orders.clear()
    play.heal("b")
    play.list_runs("b", e.Report("RUN1", 1, "prepared"))
    assert play.take(Abort) == [Abort(play.of("b"))]
