"""Who starts next, who waits, and what waiting jobs say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cockpit.core import events as e
from cockpit.core.cluster import Gpu, GpuProcess, Lease, LinkState, Node, Reading
from cockpit.core.effects import Prepare
from cockpit.core.jobs import JobState
from cockpit.core.moves import with_job
from tests.core.play import FINE, Play, asked, gpus, lab, specs, without


def reading(*changed: Gpu, leases: tuple[Lease, ...] = ()) -> Reading:
    return Reading(2, gpus=changed or gpus("a", 2), leases=leases)


def held_by(run: str | None, user: str = "eve") -> Gpu:
    process = GpuProcess(4711, user, 10**9, run)
    return replace(gpus("a", 2)[0], processes=(process,))


def test_first_in_first_out_and_each_waiting_job_says_behind_whom() -> None:
    play = Play(lab("a"))
    play.run(asked(1, gpus=2))
    for number in (2, 3, 4):
        play.submit(asked(number, gpus=2 if number == 2 else 1))
    assert play.job(2).reason == "Resources: needs 1x2 GPUs, free none"
    assert play.job(3).reason == "Priority: behind job 2"
    assert play.job(4).reason == "Priority: behind job 3"
    play.see("a", "ended", FINE)
    assert [play.job(n).state.code for n in (1, 2, 3, 4)] == ["CD", "CF", "PD", "PD"]


def test_a_job_says_behind_whom_it_waits_only_as_long_as_that_one_waits_too() -> None:
    play = Play(lab("a"))
    play.run(asked(1, gpus=2))
    for number in (2, 3, 4):
        play.submit(asked(number, gpus=2))
    play.happen(e.CancelOrdered(3, play.now))
    assert play.job(4).reason == "Priority: behind job 2"
    play.happen(e.CancelOrdered(2, play.now))
    assert play.job(4).reason == "Resources: needs 1x2 GPUs, free none"


def test_a_row_is_not_rewritten_for_a_change_far_ahead_in_the_line() -> None:
    play = Play(lab("a"))
    play.run(asked(1, gpus=2))
    for number in range(2, 10):
        play.submit(asked(number, gpus=2))
    before = play.cluster.roster
    play.see("a", "ended", FINE)
    changed = {job.id for job in play.cluster.roster.changed_since(before)}
    assert changed == {1, 2, 3}


def test_jobs_that_want_the_same_as_one_whose_nodes_are_away_wait_behind_it() -> None:
    play = Play(lab("a", "b"))
    play.cut("b")
    for number in (1, 2, 3):
        play.submit(asked(number, nodes=2))
    play.submit(asked(4))
    assert play.job(1).reason.startswith("NodeDown")
    assert [play.job(n).reason for n in (2, 3)] == [f"Priority: behind job {n}" for n in (1, 2)]
    assert play.job(4).state is JobState.CONFIGURING


def test_a_gpu_that_is_missing_from_one_reading_fails_no_job() -> None:
    play = Play(lab("a"))
    play.read("a", reading())
    play.read("a", reading(gpus("a", 2)[0]))
    play.submit(asked(gpus=2))
    assert play.job().reason == "Resources: needs 1x2 GPUs, free 1x1; a shows 1 of 2 GPUs"
    play.submit(asked(2))
    assert play.job(2).state is JobState.CONFIGURING
    play.see("a", "ended", FINE)
    play.read("a", reading())
    play.happen(e.StartRefused(play.of("a", 2), play.now, "no", retry=False))
    play.undo_all(2)
    assert play.job().state is JobState.CONFIGURING


def test_a_refused_job_is_tried_again_once_its_time_has_come() -> None:
    play = Play(lab("a"))
    play.submit(asked(1, gpus=2))
    play.happen(e.StartRefused(play.of("a"), play.now, "Busy", retry=True))
    play.undo_all()
    play.read("a", reading())
    assert play.job().state is JobState.PENDING
    play.wait(6)
    assert play.job().state is JobState.CONFIGURING


def test_a_fact_that_changes_nothing_takes_over_what_the_last_pass_saw() -> None:
    play = Play(lab("a", "b"))
    play.run(asked(1, nodes=2, gpus=2))
    play.submit(asked(2))
    play.wait(1)
    before = play.cluster
    play.wait(1)
    assert before.outlook is not None
    assert play.cluster.outlook is not None
    assert play.cluster.outlook.rooms is before.outlook.rooms
    assert play.cluster.jobs is before.jobs


def test_small_jobs_do_not_overtake_a_large_one() -> None:
    play = Play(lab("a"))
    play.run(asked(1))
    play.submit(asked(2, gpus=2))
    play.submit(asked(3))
    assert play.job(3).state is JobState.PENDING


def test_a_job_whose_nodes_are_away_holds_nobody_back() -> None:
    play = Play(lab("a", "b"))
    play.cut("b")
    play.submit(asked(1, nodes=2))
    play.submit(asked(2))
    assert play.job(1).reason.startswith("NodeDown")
    assert play.job(2).state is JobState.CONFIGURING


def test_while_nodes_are_being_connected_the_order_of_the_queue_holds() -> None:
    play = Play(lab("a", "b"))
    play.happen(e.EngineStarted(play.now))
    play.happen(e.LinkChanged("b", play.now, LinkState.CONNECTING, "connecting"))
    play.submit(asked(1, nodes=2))
    play.submit(asked(2))
    assert play.job(1).reason == "Connecting: 1/2 nodes are up"
    assert play.job(2).reason == "Priority: behind job 1"
    play.wait(31)
    assert play.job(2).state is JobState.CONFIGURING


def test_a_job_that_strangers_keep_waiting_holds_nobody_back() -> None:
    play = Play(lab("a"))
    play.read("a", reading(held_by(None), gpus("a", 2)[1]))
    play.submit(asked(1, gpus=2))
    play.submit(asked(2))
    expected = "Resources: needs 1x2 GPUs, free 1x1 (taken by eve (pid 4711) on a)"
    assert play.job(1).reason == expected
    assert play.job(2).state is JobState.CONFIGURING


def test_more_than_the_cluster_has_fails_at_once_and_says_what_it_has() -> None:
    play = Play(lab("a", "b"))
    play.submit(asked(nodes=3))
    assert play.job().state is JobState.FAILED
    assert play.job().reason == (
        "NeverFits: needs 3 nodes with 1 GPU each, the cluster has 2; "
        "ask for less: 2x2 is all it has"
    )
    assert play.job().code == 1


@pytest.mark.parametrize(
    "unread",
    [
        Node("b"),
        Node("b", link=LinkState.UNREACHABLE),
        Node("b", link=LinkState.UP, reading=Reading(1, gpu_message="driver needs a reload")),
    ],
)
def test_a_node_that_cannot_say_what_it_has_lets_no_job_fail(unread: Node) -> None:
    cluster = lab("a")
    play = Play(replace(cluster, nodes={**cluster.nodes, "b": unread}))
    play.submit(asked(nodes=2))
    assert play.job().state is JobState.PENDING


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (reading(held_by(None), gpus("a", 2)[1]), "eve (pid 4711) on a"),
        (reading(held_by("OTHER/1/a"), gpus("a", 2)[1]), "eve's cockpit job (pid 4711) on a"),
        (
            reading(replace(gpus("a", 2)[0], error="fell off the bus"), gpus("a", 2)[1]),
            "sick: fell off the bus on a",
        ),
        (
            reading(leases=(Lease("GPU-a-0", "OTHER", 1, "eve", "llama"),)),
            "eve's cockpit (llama) on a",
        ),
    ],
)
def test_a_unit_in_foreign_use_or_sick_is_not_given_away(taken: Reading, words: str) -> None:
    play = Play(lab("a"))
    play.read("a", taken)
    play.submit(asked(1))
    (prepare,) = play.take(Prepare)
    assert prepare.spec["units"] == ["GPU-a-1"]
    play.submit(asked(2, gpus=2))
    assert words in play.job(2).reason


def test_what_a_stranger_held_is_given_away_once_it_is_free() -> None:
    play = Play(lab("a"))
    play.read("a", reading(held_by(None), gpus("a", 2)[1]))
    play.submit(asked(gpus=2))
    assert play.job().state is JobState.PENDING
    play.read("a", reading())
    assert play.job().state is JobState.CONFIGURING


def test_our_own_processes_and_leases_are_no_strangers() -> None:
    play = Play(lab("a"))
    play.run(asked(1))
    play.read("a", reading(held_by("RUN1/1/a"), gpus("a", 2)[1]))
    play.submit(asked(2, gpus=2))
    assert play.job(2).reason == "Resources: needs 1x2 GPUs, free 1x1"


def test_ranks_follow_the_inventory_and_whole_nodes_stay_whole() -> None:
    play = Play(lab("a", "b", "c"))
    play.run(asked(1))
    play.submit(asked(2))
    (prepare,) = play.take(Prepare)
    assert prepare.of.node == "a"
    play.submit(asked(3, nodes=2, gpus=2))
    assert specs(play.take(Prepare)) == {"b": 0, "c": 1}


def test_the_same_submission_twice_is_one_job() -> None:
    play = Play(lab("a"))
    play.submit(asked(1))
    play.happen(e.JobSubmitted(2, play.now, asked(1), play.now.wall))
    assert list(play.cluster.jobs) == [1]


def test_cpu_slots_are_given_out_where_there_is_no_gpu() -> None:
    play = Play(lab("a", slots=True))
    play.submit(asked(gpus=2))
    (prepare,) = play.take(Prepare)
    assert prepare.spec["units"] == ["slot-0", "slot-1"]
    assert prepare.spec["cuda_devices"] == ""


def test_a_job_that_was_refused_lets_others_pass_while_it_waits() -> None:
    play = Play(lab("a"))
    play.submit(asked(1, gpus=2))
    play.happen(e.StartRefused(play.of("a"), play.now, "Foreign: pid 1", retry=True))
    play.submit(asked(2))
    assert play.job(2).state is JobState.PENDING
    play.undo_all()
    assert play.job(1).state is JobState.PENDING
    assert play.job(2).state is JobState.CONFIGURING


def test_whoever_waited_behind_a_job_that_starts_names_another_though_the_same_one_blocks() -> None:
    play = Play(without(lab("a", "b"), "b"))
    play.run(asked(9))
    play.submit(asked(10, nodes=2))
    play.submit(asked(11, gpus=2))
    play.submit(asked(12, nodes=2))
    assert play.job(10).reason.startswith("NodeDown")
    assert play.job(12).reason == "Priority: behind job 11"
    play.cluster = with_job(play.cluster, replace(play.job(12), reason="Priority: behind job 10"))
    play.wait(1)
    play.happen(e.LinkChanged("b", play.now, LinkState.UP))
    assert play.job(10).state is JobState.CONFIGURING
    assert play.job(12).reason == "Priority: behind job 11"
