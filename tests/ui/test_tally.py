"""The figures of the top line: every unit in one pair of hands, kinds never mixed."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import LinkState
from cockpit.ui.tally import tally
from cockpit.ui.widgets.top_line import TopLine, line
from tests.ui.lab import cluster, gpu, job, lab, node
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen


def test_every_gpu_is_counted_once() -> None:
    (count,) = tally(lab()).counts
    hands = (count.busy, count.idle, count.others, count.free, count.sick, count.unknown)
    assert sum(hands) == count.total == 32
    assert hands == (16, 0, 2, 5, 1, 8)


def test_simulated_gpus_and_slots_are_counted_apart() -> None:
    real = node("a", (gpu("a", 0, 90.0),))
    simulated = node("b", (gpu("b", 0, 90.0, simulated=True), gpu("b", 1, simulated=True)))
    found = tally(cluster({"a": real, "b": simulated, "c": node("c", slots=3)}))
    assert [count.words[0] for count in found.counts] == [
        "1 GPU",
        "2 simulated GPUs",
        "3 CPU slots",
    ]
    assert found.counts[1].power_w is None


def test_a_gpu_that_a_job_holds_without_using_it_is_held_idle() -> None:
    one = node("a", (gpu("a", 0, 0.0), gpu("a", 1, 99.0)))
    (count,) = tally(cluster({"a": one}, job(1, (one,), 2))).counts
    assert (count.busy, count.idle) == (1, 1)


def test_a_dead_nodes_gpus_are_unknown_and_not_free() -> None:
    dead = replace(node("a", (gpu("a", 0),)), link=LinkState.UNREACHABLE)
    found = tally(cluster({"a": dead}))
    assert (found.counts[0].free, found.counts[0].unknown) == (0, 1)
    assert found.alerts == ("a does not answer",)


def test_the_top_line_keeps_its_width_and_its_alert() -> None:
    for width in (60, 80, 120, 200):
        text = line("lab", tally(lab(), "the store is full"), "14:02", width).plain
        assert len(text) <= width
        assert "▲ the store is full" in text
        assert text.endswith("14:02")


def test_an_alert_that_does_not_fit_has_lines_of_its_own() -> None:
    alert = "the engine ended: quit and start the cockpit again, for nothing is followed now"
    for width in (30, 60, 80, 120):
        top, *below = line("lab", tally(lab(), alert), "14:02", width).plain.splitlines()
        assert top.endswith("14:02")
        assert all(len(row) <= width for row in below)
        assert alert in " ".join(row.strip() for row in below) or width == 30
    assert len(below) == 1
    cut = line("lab", tally(lab(), alert * 20), "14:02", 60).plain.splitlines()
    assert len(cut) == 4
    assert cut[-1].endswith("…")


async def test_the_screen_makes_room_for_an_alert_and_takes_it_back() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        model.alert = "the engine ended: quit and start the cockpit again"
        await until_seen(pilot, "▲ the engine ended: quit and start the cockpit again  +2 more")
        assert pilot.app.screen.query_one(TopLine).size.height == 2
        model.alert = ""
        await until(pilot, lambda: "quit and start" not in screen(pilot.app))
