"""Restarts: from the newest checkpoint, a named one or nothing, in every state of a job."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core import events as e
from cockpit.core.effects import Abort, ListCheckpoints, Prepare, Stop
from cockpit.core.jobs import Checkpoint, JobState, Resume
from cockpit.core.request import Request
from tests.core.play import STOPPED, Play, asked, failed, lab

NEWEST = Checkpoint(40, "/state/b/RUN1/checkpoints/step-00000040")
LOOK = ListCheckpoints("RUN1", "a", "/state/a/RUN1/checkpoints")


def failed_job() -> Play:
    play = Play(lab("a", "b"))
    play.run(asked())
    play.see("a", "ended", failed(0))
    play.orders.clear()
    return play


def listed(play: Play, *complete: Checkpoint, error: str | None = None) -> None:
    play.happen(e.CheckpointsListed("RUN1", play.now, complete, error))


def test_a_failed_job_goes_on_from_its_newest_checkpoint() -> None:
    play = failed_job()
    play.happen(e.RestartOrdered(1, play.now))
    assert play.take(ListCheckpoints) == [LOOK]
    assert play.job().state is JobState.PENDING
    assert play.job().reason == "looking for the newest checkpoint on a"
    listed(play, NEWEST, Checkpoint(20, "/older"))
    (prepare,) = play.take(Prepare)
    assert prepare.spec["resume"] == {"path": NEWEST.path, "step": 40}
    assert prepare.spec["attempt"] == 2
    play.start_all()
    assert (play.job().step, play.job().resume) == (40, NEWEST)


def test_without_a_complete_checkpoint_it_starts_from_nothing_and_says_so() -> None:
    play = failed_job()
    play.happen(e.RestartOrdered(1, play.now))
    play.orders.clear()
    listed(play)
    (prepare,) = play.take(Prepare)
    assert prepare.spec["resume"] is None
    assert play.notes[-1] == "no complete checkpoint: from the start"


def test_a_named_checkpoint_is_taken_as_named() -> None:
    play = failed_job()
    play.happen(e.RestartOrdered(1, play.now, Checkpoint(7, "/data/step-7")))
    (prepare,) = play.take(Prepare)
    assert prepare.spec["resume"] == {"path": "/data/step-7", "step": 7}


def test_from_nothing_asks_for_no_checkpoint() -> None:
    play = failed_job()
    play.happen(e.RestartOrdered(1, play.now, Resume.NOTHING))
    (prepare,) = play.take(Prepare)
    assert prepare.spec["resume"] is None


def test_a_restart_goes_to_the_node_that_has_the_checkpoint() -> None:
    play = Play(lab("a", "b"))
    play.run(asked(1, gpus=2))
    play.submit(asked(2))
    play.start_all(2)
    assert play.job(2).nodes == ("b",)
    play.happen(e.RestartOrdered(2, play.now))
    play.happen(e.CancelOrdered(1, play.now))
    play.see("a", "ended", STOPPED)
    play.happen(e.RunSeen("b", play.now, e.Report("RUN2", 1, "ended", exit=STOPPED)))
    play.orders.clear()
    play.happen(e.CheckpointsListed("RUN2", play.now, (NEWEST,)))
    (prepare,) = play.take(Prepare)
    assert (prepare.of.node, prepare.spec["node_rank"]) == ("b", 0)


def test_a_restart_waits_for_the_node_that_has_the_checkpoint() -> None:
    play = failed_job()
    play.cut("a")
    play.happen(e.RestartOrdered(1, play.now))
    assert play.take(Prepare) == []
    assert play.job().reason == "NodeDown: a has its checkpoints and does not answer"
    play.heal("a")
    play.list_runs("a")
    assert play.take(ListCheckpoints) == [LOOK]


def test_a_lookup_that_failed_is_tried_again() -> None:
    play = failed_job()
    play.happen(e.RestartOrdered(1, play.now))
    listed(play, error="a could not list /x: Stale file handle")
    play.orders.clear()
    assert "Stale file handle" in play.job().reason
    play.wait(5)
    assert play.take(ListCheckpoints) == []
    play.wait(6)
    assert play.take(ListCheckpoints) == [LOOK]
    play.wait(60)
    assert play.take(ListCheckpoints) == []


def test_another_directory_of_checkpoints_is_asked_for_where_the_job_has_one() -> None:
    play = Play(lab("a"))
    request: Request = replace(asked(), checkpoint_dir="/data/mine")
    play.run(request)
    play.see("a", "ended", failed(0))
    play.orders.clear()
    play.happen(e.RestartOrdered(1, play.now))
    assert play.take(ListCheckpoints) == [ListCheckpoints("RUN1", "a", "/data/mine")]


def test_a_running_job_is_stopped_and_proven_empty_first() -> None:
    play = Play(lab("a", "b"))
    play.run(asked(nodes=2))
    play.happen(e.RestartOrdered(1, play.now))
    assert [(stop.node, stop.grace_s) for stop in play.take(Stop)] == [("a", 30), ("b", 30)]
    play.see("a", "ended", STOPPED)
    assert play.take(ListCheckpoints) == []
    play.see("b", "ended", STOPPED)
    assert play.take(ListCheckpoints) == [LOOK]
    assert play.job().code is None


def test_a_start_is_taken_back_and_made_again() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.orders.clear()
    play.happen(e.RestartOrdered(1, play.now))
    assert len(play.take(Abort)) == 1
    play.undo_all()
    (prepare,) = play.take(Prepare)
    assert prepare.spec["attempt"] == 1


def test_a_job_that_is_being_cancelled_can_still_be_restarted() -> None:
    play = Play(lab("a"))
    play.run(asked())
    play.happen(e.CancelOrdered(1, play.now, grace_s=5))
    play.orders.clear()
    play.happen(e.RestartOrdered(1, play.now))
    assert [stop.grace_s for stop in play.take(Stop)] == [5]
    play.see("a", "ended", STOPPED)
    assert play.job().state is JobState.PENDING


def test_a_waiting_job_may_be_restarted_from_elsewhere() -> None:
    play = Play(lab("a"))
    play.run(asked(1, gpus=2))
    play.submit(asked(2))
    play.happen(e.RestartOrdered(2, play.now, Checkpoint(3, "/given/step-3")))
    assert play.job(2).resume == Checkpoint(3, "/given/step-3")
    assert play.job(2).state is JobState.PENDING
    assert play.job(2).reason.startswith("Resources")


def test_a_job_that_never_ran_starts_from_nothing() -> None:
    play = Play(lab("a"))
    play.run(asked(1, gpus=2))
    play.submit(asked(2))
    play.happen(e.CancelOrdered(2, play.now), e.RestartOrdered(2, play.now))
    assert play.take(ListCheckpoints) == []
    assert play.job(2).state is JobState.PENDING
    assert play.job(2).reason


def test_a_restart_of_a_job_that_was_just_refused_does_not_wait_for_its_turn() -> None:
    play = Play(lab("a"))
    play.submit(asked())
    play.happen(e.StartRefused(play.of("a"), play.now, "Busy: eve", retry=True))
    play.orders.clear()
    play.happen(e.RestartOrdered(1, play.now))
    play.orders.clear()
    play.undo_all()
    assert len(play.take(Prepare)) == 1


def test_a_restart_of_a_job_that_does_not_exist_is_nothing() -> None:
    play = Play(lab("a"))
    play.happen(e.RestartOrdered(5, play.now))
    assert play.cluster.jobs == {}


def test_a_checkpoint_whose_path_no_node_can_be_told_restarts_nothing() -> None:
    play = Play(lab("a"))
    play.run(asked())
    for path in ("/c/step-1\nrm", "/c/\0", "c/step-1"):
        play.happen(e.RestartOrdered(1, play.now, Checkpoint(1, path)))
        assert play.job().state is JobState.RUNNING
        assert play.notes[-1].startswith("not restarted: ")
        assert play.notes[-1].endswith("must be an absolute path on the nodes, on one line")
