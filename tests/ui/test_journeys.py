"""What a researcher does, by keyboard alone, on the smallest screen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from cockpit.core.cluster import Moment
from cockpit.core.jobs import JobState
from cockpit.core.request import Request
from cockpit.ui.app import CockpitApp
from cockpit.ui.model import Found, Happening
from cockpit.ui.screens.cluster import ClusterScreen
from cockpit.ui.screens.events import EventsScreen
from cockpit.ui.screens.job import JobScreen
from cockpit.ui.screens.launch import LaunchScreen
from cockpit.ui.screens.queue import QueueScreen
from cockpit.ui.widgets.job_table import JobTable
from tests.ui.lab import MONO, WALL, cluster, job, lab
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen

FOUND = (
    Found(41_500, "/ckpt/step-41500", False, "rank 3 has not written its part", 10, WALL, 16),
    Found(41_000, "/ckpt/step-41000", True, "", 41 << 30, WALL - 600, 16),
    Found(40_000, "/ckpt/step-40000", True, "", 41 << 30, WALL - 6000, 16),
)


async def test_from_the_first_screen_to_a_submitted_job() -> None:
    model = MemoryModel(cluster(lab(2).nodes))
    async with cockpit(model) as pilot:
        await pilot.press("n", *"train.py --lr 3e-4", "enter", "2", "enter", "4")
        await until_seen(pilot, "ranks 0-3")
        await until_seen(pilot, "train (from the command)")
        await pilot.press("ctrl+s")
        ((order, request),) = model.orders
        assert order == "submit"
        assert isinstance(request, Request)
        assert (request.argv, request.nodes, request.gpus) == (("train.py", "--lr", "3e-4"), 2, 4)
        assert isinstance(pilot.app.screen, QueueScreen)
        model.cluster = cluster(model.cluster.nodes, job(8), job(9))
        await until(pilot, lambda: pilot.app.screen.query_one(JobTable).chosen == 9)


async def test_a_wrong_field_is_told_in_its_place_and_nothing_is_queued() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "n", "tab", "delete", *"many")
        await until_seen(pilot, "is not a whole number")
        await pilot.press("ctrl+s")
        assert model.orders == []
        assert pilot.app.screen.focused is not None
        assert pilot.app.screen.focused.id == "nodes"


async def test_a_form_that_was_left_is_there_again() -> None:
    async with cockpit(MemoryModel(cluster({}))) as pilot:
        await pilot.press("n", *"q?:1", "escape")
        assert isinstance(pilot.app.screen, ClusterScreen)
        await pilot.press("n")
        await until_seen(pilot, "q?:1")


async def test_a_new_job_like_the_chosen_one_is_filled_in() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "j", "n")
        await until_seen(pilot, "llama-2b")
        await until_seen(pilot, "WANDB_MODE=offline")


async def test_cancel_names_what_is_at_stake_and_asks() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "c")
        for words in ("llama-1b", "gpu1, gpu2", "step 41,000, 200 steps behind", "30 s"):
            await until_seen(pilot, words)
        await pilot.press("escape")
        assert model.orders == []
        await pilot.press("c", "y")
        await until(pilot, lambda: model.orders == [("cancel", 1, None)])


async def test_kill_wants_the_name_of_the_job() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "K", *"llama", "enter")
        await until_seen(pilot, "That is not its name")
        assert model.orders == []
        await pilot.press(*"-1b", "enter")
        assert model.orders == [("cancel", 1, 0)]


async def test_a_job_that_is_over_is_not_cancelled_but_told_so() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "G", "c")
        await until_seen(pilot, "is over already")
        assert model.orders == []


async def test_restart_takes_the_newest_complete_checkpoint() -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model, 120, 40) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "▸ step 41,000")
        await until_seen(pilot, "rank 3 has not written its part")
        await until_seen(pilot, "COCKPIT_RESUME_FROM=/ckpt/step-41000")
        await pilot.press("y")
        await until(pilot, lambda: model.orders == [("restart", 1, "/ckpt/step-41000")])


async def test_another_checkpoint_is_one_arrow_away() -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "▸ step 41,000")
        await pilot.press("down")
        await until_seen(pilot, "▸ step 40,000")
        await pilot.press("down", "y")
        await until(pilot, lambda: model.orders == [("restart", 1, "/ckpt/step-40000")])


async def test_a_restart_that_cannot_look_says_why_and_does_nothing() -> None:
    model = MemoryModel(found="gpu1 does not answer; try again when it does")
    async with cockpit(model) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "gpu1 does not answer")
        await pilot.press("y", "escape")
        assert model.orders == []
        await pilot.press("R")
        await until_seen(pilot, "Restart job 1 now")
        await pilot.press("y")
        await until(pilot, lambda: model.orders == [("restart", 1, None)])


async def test_a_job_that_is_over_restarts_at_once_by_one_key() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "G", "R")
        await until_seen(pilot, "Job 5 restarts from its newest complete checkpoint")
        assert model.orders == [("restart", 5, None)]


async def test_without_a_checkpoint_a_restart_says_that_it_begins_anew() -> None:
    model = MemoryModel(found=FOUND[:1])
    async with cockpit(model) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "From the beginning: no checkpoint is complete.")
        await pilot.press("y")
        await until(pilot, lambda: model.orders == [("restart", 1, None)])


async def test_a_job_that_waits_is_not_restarted_but_told_so() -> None:
    model = MemoryModel(found=FOUND)
    async with cockpit(model) as pilot:
        await pilot.press("2", "j", "j", "r")
        await until_seen(pilot, "Job 3 waits for its start already")
        await pilot.press("R")
        assert model.orders == []


async def test_a_job_that_never_ran_restarts_from_the_beginning() -> None:
    model = MemoryModel(found="it never ran")
    failed = replace(job(5), state=JobState.FAILED, ended=WALL)
    model.cluster = replace(model.cluster, jobs={5: failed})
    async with cockpit(model) as pilot:
        await pilot.press("2", "r")
        await until_seen(pilot, "From the beginning: there is no checkpoint.")
        await pilot.press("enter")
        await until(pilot, lambda: model.orders == [("restart", 5, None)])


async def test_keys_lead_to_every_screen_and_back() -> None:
    async with cockpit(MemoryModel()) as pilot:
        steps = (
            ("2", QueueScreen),
            ("2", QueueScreen),
            ("4", EventsScreen),
            ("3", JobScreen),
            ("1", ClusterScreen),
            ("enter", JobScreen),
            ("q", ClusterScreen),
            ("n", LaunchScreen),
            ("escape", ClusterScreen),
        )
        for key, expected in steps:
            await pilot.press(key)
            assert isinstance(pilot.app.screen, expected), key


async def test_a_job_opened_from_the_queue_leads_back_to_the_queue() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "j", "enter")
        await until_seen(pilot, "llama-2b")
        assert isinstance(pilot.app.screen, JobScreen)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_the_events_follow_their_end_and_open_their_job() -> None:
    model = MemoryModel(history=[Happening(WALL + n, 2, f"thing {n}") for n in range(50)])
    async with cockpit(model) as pilot:
        await pilot.press("4")
        await until_seen(pilot, "thing 49")
        model.history.append(Happening(WALL + 50, 1, "thing 50"))
        model.cluster = replace(model.cluster, now=Moment(WALL + 1, MONO + 1))
        await until_seen(pilot, "thing 50")
        await pilot.press("enter")
        await until_seen(pilot, "llama-1b")
        assert isinstance(pilot.app.screen, JobScreen)


async def test_the_help_names_every_key_of_the_screen() -> None:
    async with cockpit(MemoryModel(), 80, 60) as pilot:
        await pilot.press("question_mark")
        for words in ("Cycle full, compact and dots", "after its name is typed", "Jobs"):
            await until_seen(pilot, words)
        await pilot.press("q")
        assert isinstance(pilot.app.screen, ClusterScreen)


async def test_the_help_fits_on_a_small_screen_and_says_how_to_close_it() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("question_mark")
        await until_seen(pilot, "Esc close")


async def test_the_palette_finds_actions_jobs_and_themes() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("colon", *"llama-2b")
        await until_seen(pilot, "job 2 llama-2b (running)")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen))
        await pilot.press("ctrl+p", *"cockpit-light")
        await until_seen(pilot, "theme cockpit-light")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.theme == "cockpit-light")
        await pilot.press("ctrl+p", *"Queue")
        await until_seen(pilot, "Queue  (2)")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, QueueScreen))


async def left(pilot: Pilot[Any], *keys: str) -> str | None:
    await pilot.press(*keys)
    await until(pilot, lambda: not pilot.app.is_running)
    assert isinstance(pilot.app, CockpitApp)
    return pilot.app.return_value


async def test_quitting_asks_nothing_when_nothing_goes_on() -> None:
    async with cockpit(MemoryModel(cluster({}))) as pilot:
        assert await left(pilot, "q") == ""


async def test_quitting_says_that_jobs_go_on_and_stops_none() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("ctrl+c")
        await until_seen(pilot, "Quit? The jobs go on.")
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, ClusterScreen)
        text = await left(pilot, "2", "q", "q", "enter")
        assert text is not None
        assert "job 1 llama-1b goes on, on gpu[1-2]" in text
        assert model.orders == []


async def test_a_shape_left_to_torchrun_is_asked_for_before_anything_is_queued() -> None:
    model = MemoryModel(cluster(lab(2).nodes))
    async with cockpit(model) as pilot:
        await pilot.press("n", *"torchrun --nproc-per-node=gpu t.py", "ctrl+s")
        await until_seen(pilot, "the cockpit allocates a number")
        assert isinstance(pilot.app.screen, LaunchScreen)
        assert model.orders == []


async def test_quitting_while_jobs_wait_can_leave_an_engine_behind() -> None:
    waiting = job(3, state=JobState.PENDING)
    model = MemoryModel(cluster(lab(2).nodes, waiting))
    async with cockpit(model) as pilot:
        await pilot.press("q")
        await until_seen(pilot, "leave an engine behind")
        assert await left(pilot, "d") is not None
    assert model.orders == [("leave_daemon",)]


async def test_an_engine_that_runs_elsewhere_is_not_left_a_second_time() -> None:
    waiting = job(3, state=JobState.PENDING)
    model = MemoryModel(cluster(lab(2).nodes, waiting), runs_engine=False)
    async with cockpit(model) as pilot:
        await pilot.press("q")
        await until_seen(pilot, "only while an engine runs")
        await pilot.press("d")
        assert "leave an engine behind" not in screen(pilot.app)
    assert model.orders == []


async def test_where_jobs_end_with_the_screen_quitting_says_so() -> None:
    async with cockpit(MemoryModel(), leaving="The practice cluster ends.") as pilot:
        await pilot.press("q")
        await until_seen(pilot, "Quit? The jobs end with it.")
        await until_seen(pilot, "The practice cluster ends.")
        await until_seen(pilot, "job 1 llama-1b ends")
        assert await left(pilot, "y") is not None


async def test_keys_of_jobs_without_a_job_say_how_to_choose_one() -> None:
    async with cockpit(MemoryModel(cluster(lab(2).nodes))) as pilot:
        await pilot.press("c")
        await until_seen(pilot, "No job is chosen")
        assert "Cancel" not in screen(pilot.app)
