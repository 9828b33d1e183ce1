"""Questions before work is lost: what answers them, and what was typed for something else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual import events

from cockpit.core.jobs import JobState
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.screens.queue import QueueScreen
from cockpit.ui.wrapping import wrapped
from tests.ui.lab import WALL, cluster, job, lab
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen
from tests.ui.test_journeys import FOUND


async def test_a_word_typed_into_the_screen_cancels_nothing() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", *"cockpit", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, QueueScreen))
        for word in ("copy it", "cy", "copy"):
            await pilot.press(*word)
            await pilot.pause(0.5)
        assert isinstance(pilot.app.screen, Ask)
        assert model.orders == []


async def test_keys_on_their_way_when_a_question_opens_are_no_answer() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2")
        for key in "cy":
            pilot.app.post_message(events.Key(key, key))
        await until_seen(pilot, "Cancel this job?")
        await pilot.pause(0.5)
        assert isinstance(pilot.app.screen, Ask)
        assert model.orders == []
        await pilot.press("y")
        await until(pilot, lambda: model.orders == [("cancel", 1, None)])


async def test_pasted_text_presses_no_key() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "c")
        await until_seen(pilot, "Cancel this job?")
        pilot.app.post_message(events.Paste("y\ny\n"))
        await pilot.pause(0.5)
        assert isinstance(pilot.app.screen, Ask)
        assert model.orders == []


async def test_enter_leaves_a_job_alone_and_tab_marks_the_other_answer() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "c")
        await until_seen(pilot, "▸ leave it")
        await until_seen(pilot, "↵ leave it   y cancel it   Tab the other answer   Esc leave it")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, QueueScreen))
        assert model.orders == []
        await pilot.press("c", "tab")
        await until_seen(pilot, "▸ cancel it")
        await pilot.press("left", "right", "enter")
        await until(pilot, lambda: model.orders == [("cancel", 1, None)])


@pytest.mark.parametrize("key", ["r", "R"])
async def test_a_restart_of_a_job_that_runs_is_not_taken_by_enter(key: str) -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model) as pilot:
        await pilot.press("2", key)
        await until_seen(pilot, "y restart it")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, QueueScreen))
        assert model.orders == []


async def test_a_restart_of_a_job_that_is_over_is_taken_by_enter() -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model) as pilot:
        await pilot.press("2", "G", "r")
        await until_seen(pilot, "▸ step 41,000")
        await pilot.press("enter")
        await until(pilot, lambda: model.orders == [("restart", 5, "/ckpt/step-41000")])


async def test_where_jobs_end_with_the_screen_enter_stays() -> None:
    async with cockpit(MemoryModel(), leaving="The practice cluster ends.") as pilot:
        await pilot.press("q")
        await until_seen(pilot, "▸ stay")
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Ask))
        assert pilot.app.is_running


async def test_a_job_that_is_being_stopped_does_not_go_on() -> None:
    stopping = replace(lab().jobs[1], state=JobState.COMPLETING)
    async with cockpit(MemoryModel(cluster(lab().nodes, stopping))) as pilot:
        await pilot.press("q")
        await until_seen(pilot, "job 1 llama-1b is being stopped on gpu[1-2]")


async def test_a_restart_offers_what_was_saved_meanwhile_until_one_is_chosen() -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model, 100, 40) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "▸ step 41,000")
        await until_seen(pilot, "as it was 0s ago")
        model.found = (replace(FOUND[1], step=42_000, path="/ckpt/step-42000"), *FOUND)
        await until_seen(pilot, "▸ step 42,000")
        await pilot.press("down")
        await until_seen(pilot, "▸ step 41,000")
        model.found = (replace(FOUND[1], step=43_000, path="/ckpt/step-43000"), *model.found)
        await until_seen(pilot, "step 43,000")
        assert "▸ step 41,000" in screen(pilot.app)
        model.found = "gpu1 does not answer"
        await until_seen(pilot, "ago; gpu1 does not answer")
        await pilot.press("y")
        await until(pilot, lambda: model.orders == [("restart", 1, "/ckpt/step-41000")])


async def test_a_question_tells_one_rank_as_one() -> None:
    one = job(7, tuple(lab().nodes.values())[:1], gpus=1, ended=None, submitted=WALL)
    async with cockpit(MemoryModel(cluster(lab().nodes, one))) as pilot:
        await pilot.press("2", "c")
        await until_seen(pilot, "(1 rank)")


@pytest.mark.parametrize("cells", [1, 5, 12, 30, 200])
@pytest.mark.parametrize(
    "text",
    ["", "two words", "/data/runs/01J/checkpoints/step-00000300 is whole", "节点" * 20, "a" * 70],
)
def test_facts_wrap_inside_their_column(text: str, cells: int) -> None:
    lines = wrapped(text, cells)
    assert all(cell_len(line) <= max(cells, 2) for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_path_breaks_at_its_slashes() -> None:
    assert wrapped("in /data/runs/alpha/step-300", 12) == ["in /data/", "runs/alpha/", "step-300"]
