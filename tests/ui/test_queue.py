"""The queue on a real, headless screen."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import Cluster
from cockpit.core.jobs import JobState
from cockpit.ui.job_row import job_row, matches
from cockpit.ui.screens.queue import QueueScreen
from cockpit.ui.widgets.job_table import JobTable
from tests.ui.lab import WALL, cluster, job, lab
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen


def test_a_row_is_what_squeue_would_say() -> None:
    found = lab()
    row = job_row(found, found.jobs[1], "A")
    assert (row.id, row.state, row.time, row.shape) == ("1", "R", "50:00", "2x8")
    assert job_row(found, found.jobs[3], "C").time == "0:00"
    assert row.place == "gpu[1-2]"
    assert job_row(found, found.jobs[3], "C").place.startswith("(Resources: needs 2x8")
    assert matches(row, "LLAMA gpu")
    assert not matches(row, "llama qwen")


async def test_the_cursor_stays_on_its_job_when_others_end_and_come() -> None:
    model = MemoryModel(cluster({}, *(job(number) for number in range(1, 6))))
    async with cockpit(model) as pilot:
        await pilot.press("2", "j", "j")
        table = pilot.app.screen.query_one(JobTable)
        assert table.chosen == 3
        jobs = dict(model.cluster.jobs)
        jobs[1] = replace(jobs[1], state=JobState.CANCELLED, ended=WALL)
        jobs[6] = job(6)
        model.cluster = replace(model.cluster, jobs=jobs)
        await until(pilot, lambda: table.row_count == 6)
        assert table.chosen == 3
        assert table.cursor_row == 1
        assert str(table.get_row_at(5)[1]) == "1"


async def test_a_finished_job_stands_below_and_may_leave() -> None:
    model = MemoryModel()
    async with cockpit(model) as pilot:
        await pilot.press("2", "G")
        table = pilot.app.screen.query_one(JobTable)
        assert table.chosen == 5
        jobs = {number: one for number, one in model.cluster.jobs.items() if number != 5}
        model.cluster = replace(model.cluster, jobs=jobs)
        await until(pilot, lambda: table.row_count == 4)
        assert table.chosen in jobs


async def test_only_cells_that_changed_are_written() -> None:
    model = MemoryModel()
    async with cockpit(model, 120, 30) as pilot:
        await pilot.press("2")
        table = pilot.app.screen.query_one(JobTable)
        place, name = table.get_cell("1", "place"), table.get_cell("1", "name")
        jobs = {**model.cluster.jobs, 1: replace(model.cluster.jobs[1], step=99_999)}
        model.cluster = replace(model.cluster, jobs=jobs)
        await until_seen(pilot, "step 99,999")
        assert table.get_cell("1", "name") is name
        assert table.get_cell("1", "place") is place


async def test_an_empty_queue_says_how_to_fill_it() -> None:
    async with cockpit(MemoryModel(Cluster())) as pilot:
        await pilot.press("2")
        await until_seen(pilot, "Press n")
        await pilot.press("enter", "c", "r", "j")
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_the_filter_narrows_and_esc_shows_all_again() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "slash", *"b r")
        table = pilot.app.screen.query_one(JobTable)
        await pilot.press(*"esources", "enter")
        assert table.row_count == 2
        await pilot.press("slash", *"zzz")
        await until_seen(pilot, "No job has these words")
        await pilot.press("escape")
        assert table.row_count == 5
        assert table.has_focus


async def test_esc_clears_a_filter_that_was_kept_before_it_goes_back() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "slash", *"zzz", "enter")
        table = pilot.app.screen.query_one(JobTable)
        await until_seen(pilot, "filter: zzz   Esc clears")
        await until_seen(pilot, "Press Esc to show all again")
        await until_seen(pilot, "Esc all")
        assert table.row_count == 0
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, QueueScreen)
        await until(pilot, lambda: table.row_count == 5)
        assert "filter: zzz" not in screen(pilot.app)
        await pilot.press("escape")
        assert not isinstance(pilot.app.screen, QueueScreen)


async def test_the_order_of_jobs_is_in_the_help() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "question_mark")
        await until_seen(pilot, "Jobs that live stand first, by number")


async def test_the_columns_follow_the_width() -> None:
    async with cockpit(MemoryModel()) as pilot:
        await pilot.press("2", "j")
        assert "PROGRESS" not in screen(pilot.app)
        await pilot.resize_terminal(140, 30)
        await until_seen(pilot, "PROGRESS")
        assert pilot.app.screen.query_one(JobTable).chosen == 2
