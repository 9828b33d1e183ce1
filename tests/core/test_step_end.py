"""How a job ends: by itself, by a failing rank, by a person."""

from __future__ import annotations

import pytest

from cockpit.core import events as e
from cockpit.core.effects import Abort, Stop
from cockpit.core.jobs import MOVES, Checkpoint, Exit, JobState
from cockpit.core.moves import move
from cockpit.core.watching import MAX_NAMES
from tests.core.play import FINE, STOPPED, Play, asked, failed, lab


def running(*nodes: str) -> Play:
    play = Play(lab(*nodes))
    play.run(asked(nodes=len(nodes)))
    return play


def test_a_job_is_completed_once_every_node_ended_well() -> None:
    play = running("a", "b")
    play.see("a", "ended", FINE)
    assert play.job().state is JobState.RUNNING
    play.see("b", "ended", FINE)
    assert (play.job().state, play.job().code) == (JobState.COMPLETED, 0)


def test_a_failed_rank_ends_the_others_after_one_second() -> None:
    play = running("a", "b", "c")
    play.see("b", "ended", failed(1, 7))
    assert [(stop.node, stop.grace_s) for stop in play.take(Stop)] == [("a", 1), ("c", 1)]
    assert play.job().state is JobState.COMPLETING
    play.see("a", "ended", STOPPED)
    assert play.job().state is JobState.COMPLETING
    play.see("c", "ended", STOPPED)
    assert (play.job().state, play.job().code) == (JobState.FAILED, 7)
    assert play.job().reason.startswith("rank 1 on b exited with code 7")


def test_a_job_that_failed_holds_its_units_until_every_node_is_empty() -> None:
    play = running("a", "b")
    play.submit(asked(2, nodes=2, gpus=2))
    play.see("a", "ended", failed(0))
    assert play.job(2).state is JobState.PENDING
    play.see("b", "ended", STOPPED)
    assert play.job(2).state is JobState.CONFIGURING


def test_a_signal_from_outside_is_the_cause_and_its_peers_codes_are_not() -> None:
    play = running("a", "b")
    play.see("a", "ended", failed(0, 1))
    play.see("b", "ended", failed(1, None, "SIGKILL"))
    assert play.job().code == 137
    assert play.job().reason.startswith("rank 1 on b was ended by SIGKILL")


def test_an_exit_that_nobody_knows_is_no_success() -> None:
    play = running("a")
    play.see("a", "ended", Exit(None))
    assert (play.job().state, play.job().code) == (JobState.FAILED, 1)
    assert "nobody knows how" in play.job().reason


def test_an_exit_record_that_cannot_be_read_ends_the_job_all_the_same() -> None:
    play = running("a")
    play.see("a", "ended")
    assert play.job().state is JobState.FAILED


def test_a_late_exit_of_an_old_attempt_changes_nothing() -> None:
    play = running("a")
    play.see("a", "ended", failed(0))
    play.happen(e.RestartOrdered(1, play.now))
    play.happen(e.CheckpointsListed("RUN1", play.now, ()))
    play.start_all()
    assert play.job().attempt == 2
    play.see("a", "ended", failed(0, 9), attempt=1)
    play.happen(e.MetricsLogged("RUN1", 1, 77, {"loss": 1.0}))
    play.happen(e.CheckpointLogged("RUN1", 1, Checkpoint(70, "/old")))
    play.happen(e.PhaseLogged("RUN1", 1, "saving"))
    job = play.job()
    assert (job.state, job.step, job.checkpoint) == (JobState.RUNNING, None, None)
    assert job.phase == "started"


def test_a_run_that_was_lost_with_its_nodes_boot_fails_the_node() -> None:
    play = running("a", "b")
    play.see("b", "lost")
    assert [stop.node for stop in play.take(Stop)] == ["a"]
    play.see("a", "ended", STOPPED)
    assert play.job().state is JobState.NODE_FAIL
    assert play.job().reason == (
        "b: it left no exit record and nothing of it lives: the node was started anew, "
        "or its keeper was killed"
    )


def test_a_run_that_its_node_knows_nothing_of_is_lost() -> None:
    play = running("a")
    play.list_runs("a")
    assert play.job().state is JobState.NODE_FAIL


def test_a_run_whose_files_cannot_be_read_is_not_over() -> None:
    play = running("a")
    play.list_runs("a", e.Report("RUN1", 1, "unknown"))
    assert play.job().state is JobState.RUNNING


def test_a_run_without_its_keeper_is_marked_and_lives_on() -> None:
    play = running("a")
    play.see("a", "unsupervised")
    assert play.job().parts[0].unsupervised
    assert play.job().state is JobState.RUNNING
    play.see("a", "confirmed")
    assert not play.job().parts[0].unsupervised


def test_a_waiting_job_is_cancelled_at_once() -> None:
    play = Play(lab("a"))
    play.run(asked(gpus=2))
    play.submit(asked(2))
    play.happen(e.CancelOrdered(2, play.now))
    assert (play.job(2).state, play.job(2).code) == (JobState.CANCELLED, 130)


def test_a_start_is_taken_back_when_it_is_cancelled() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=2))
    play.orders.clear()
    play.happen(e.CancelOrdered(1, play.now))
    assert [abort.of.node for abort in play.take(Abort)] == ["a", "b"]
    play.undo_all()
    assert (play.job().state, play.job().attempt) == (JobState.CANCELLED, 0)


def test_a_running_job_is_cancelled_with_its_own_grace_on_every_node() -> None:
    play = running("a", "b")
    play.happen(e.CancelOrdered(1, play.now))
    assert [(stop.node, stop.grace_s) for stop in play.take(Stop)] == [("a", 30), ("b", 30)]
    play.see("a", "ended", STOPPED)
    play.see("b", "ended", failed(1, 1))
    assert (play.job().state, play.job().code) == (JobState.CANCELLED, 130)
    assert play.job().reason == "cancelled"


def test_a_second_cancel_is_harder_and_never_softer() -> None:
    play = running("a", "b")
    play.happen(e.CancelOrdered(1, play.now))
    play.see("a", "ended", STOPPED)
    play.orders.clear()
    play.happen(e.CancelOrdered(1, play.now, grace_s=0))
    assert play.take(Stop) == [Stop("RUN1", 1, "b", 0, "killed")]
    play.happen(e.CancelOrdered(1, play.now))
    assert [stop.grace_s for stop in play.take(Stop)] == [0]


def test_a_failing_job_that_is_cancelled_meanwhile_is_cancelled() -> None:
    play = running("a", "b")
    play.see("a", "ended", failed(0))
    play.orders.clear()
    play.happen(e.CancelOrdered(1, play.now))
    assert [stop.grace_s for stop in play.take(Stop)] == [1]
    play.see("b", "ended", STOPPED)
    assert play.job().state is JobState.CANCELLED


@pytest.mark.parametrize("how", [FINE, failed(0)])
def test_a_job_that_is_over_cannot_be_cancelled(how: Exit) -> None:
    play = running("a")
    play.see("a", "ended", how)
    before = play.job()
    play.happen(e.CancelOrdered(1, play.now), e.CancelOrdered(99, play.now))
    assert play.job() == before
    assert play.take(Stop) == []


def test_figures_that_come_late_do_not_hide_that_a_job_is_being_stopped() -> None:
    play = running("a")
    play.happen(e.CancelOrdered(1, play.now))
    play.happen(e.MetricsLogged("RUN1", 1, 12, {"loss": 0.5}))
    assert (play.job().step, play.job().phase) == (12, "stopping, 30 s grace")


def test_a_move_that_is_not_in_the_table_raises() -> None:
    job = running("a").job()
    assert set(MOVES) == set(JobState)
    for state in set(JobState) - MOVES[job.state]:
        with pytest.raises(ValueError, match="not a legal move"):
            move(job, state)


def test_a_job_keeps_the_first_names_of_metrics_and_their_newest_values() -> None:
    play = running("a")
    play.happen(e.MetricsLogged("RUN1", 1, 1, {f"a{n}": 1.0 for n in range(150)}))
    play.happen(e.MetricsLogged("RUN1", 1, 2, {f"b{n}": 1.0 for n in range(10_000)}))
    play.happen(e.MetricsLogged("RUN1", 1, 3, {"a0": 2.0, "c": 2.0, "b0": 3.0}))
    values = play.job().values
    assert len(values) == MAX_NAMES
    assert (values["a0"], values["b0"], "c" in values) == (2.0, 3.0, False)


def test_what_took_time_before_a_move_is_not_said_after_it() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    assert play.job().phase == "preparing 0/1 nodes"
    assert move(play.job(), JobState.RUNNING).phase == ""
