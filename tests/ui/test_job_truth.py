"""What the job screen says must be so: of jobs that wait, that ended, and of a search that goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.core.cluster import Moment
from cockpit.core.jobs import JobState
from cockpit.ui import wording
from cockpit.ui.model import Found, Happening
from cockpit.ui.screens.events import History
from cockpit.ui.screens.job import JobScreen
from cockpit.ui.widgets.graphs import Graph
from cockpit.ui.widgets.row_table import RowTable
from tests.ui.job_story import append
from tests.ui.lab import MONO, WALL
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen
from tests.ui.test_job_screen import Story, story


def shown(told: Story) -> list[str]:
    """The graphs on the screen, as text."""
    return [str(one.render()) for one in told.screen.query(Graph) if one.display]


async def test_a_search_pauses_and_its_keys_are_in_the_footer(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.pilot.press("slash", *"launcher", "enter")
        assert not told.log.following
        await told.pilot.press("slash", *"rank 15 did step 200", "enter")
        await told.until(lambda: "line" in told.status)
        assert "paused" in told.status
        for words in ("n older", "N newer", "Esc end"):
            await until_seen(told.pilot, words)
        assert "n new " not in screen(told.pilot.app)
        append(told.spool, "5.stdout", b"later\n" * 500)
        await told.until(lambda: "500 new of" in told.status)
        assert any("rank 15 did step 200" in row for row in told.text)
        await told.pilot.press("escape")
        await until_seen(told.pilot, "n new")


async def test_a_log_to_which_nothing_will_be_added_is_not_followed(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        told.model.alert = "the engine ended: quit and start the cockpit again"
        cluster = told.model.cluster
        told.model.cluster = replace(cluster, now=Moment(WALL + 1, MONO + 1))
        await told.until(lambda: told.status == "■ no engine follows it, 3,403 lines")
        told.model.alert = ""
        told.change(state=JobState.COMPLETED, ended=WALL, code=0)
        await told.until(lambda: told.status == "■ complete, 3,403 lines")


async def test_the_footer_says_how_to_reach_the_other_panels(tmp_path: Path) -> None:
    async with story(tmp_path, (80, 24)) as told:
        await until_seen(told.pilot, "Tab panels")
        await told.pilot.press("question_mark")
        await until_seen(told.pilot, "Follow the end, or pause")
        await until_seen(told.pilot, "The next panel")


@pytest.mark.parametrize(
    ("number", "fields", "words"),
    [
        (3, {}, "has not started: Resources: needs 2x8 GPUs"),
        (3, {"state": JobState.CANCELLED, "reason": "cancelled"}, "never started: cancelled"),
    ],
)
async def test_a_job_that_never_ran_says_so(
    number: int, fields: dict[str, object], words: str
) -> None:
    model = MemoryModel()
    changed = replace(model.cluster.jobs[number], **fields)  # type: ignore[arg-type]  # by name
    model.cluster = replace(model.cluster, jobs={**model.cluster.jobs, number: changed})
    async with cockpit(model) as pilot:
        await pilot.app.push_screen(JobScreen(model, number))
        await until_seen(pilot, words)
        assert "attempt 1 of 0" not in screen(pilot.app)
        assert "0:00" in screen(pilot.app)


async def test_graphs_with_data_get_the_room_of_those_without(tmp_path: Path) -> None:
    async with story(tmp_path, (120, 40)) as told:
        told.model.points = {"loss": told.model.points["loss"]}
        await told.go("graphs")
        await told.until(lambda: len(shown(told)) == 1)
        (loss,) = (one for one in told.screen.query(Graph) if one.display)
        assert loss.size.height > 25
        await told.pilot.press("right", "enter", "left")
        await told.until(lambda: len(shown(told)) == 1)


async def test_graphs_of_a_job_that_ended_do_not_wait(tmp_path: Path) -> None:
    async with story(tmp_path, (120, 40)) as told:
        told.model.points = {}
        await told.go("graphs")
        await told.until(lambda: any("waits for the first step" in text for text in shown(told)))
        assert not any("none" in text for text in shown(told))
        told.change(state=JobState.COMPLETED, ended=WALL, code=0)
        await told.until(lambda: any("no loss was printed" in text for text in shown(told)))
        assert not any("waits for" in text for text in shown(told))


async def test_titles_of_graphs_side_by_side_do_not_touch(tmp_path: Path) -> None:
    async with story(tmp_path, (80, 24)) as told:
        await told.go("graphs")
        await told.until(lambda: len(shown(told)) == 3)
        await told.until(lambda: all(graph.points for graph in told.screen.query(Graph)))
        for graph in told.screen.query(Graph):
            title = str(graph.render()).splitlines()[0]
            assert len(title) < graph.size.width
            assert title.endswith(("by step", "by min", "from step 401", "1 inf"))


async def test_a_path_keeps_its_end_in_the_table_and_is_whole_below(tmp_path: Path) -> None:
    path = "/home/me/.local/state/cockpit-node/gpu1/01JTEST/checkpoints/step-00000300"
    async with story(tmp_path, (80, 24)) as told:
        reason = "rank 3 has not written its part of the optimizer's state yet"
        found = Found(300, path, False, reason, 10, WALL, 1)
        told.model.found = [found, replace(found, complete=True, reason="", path=path + "1")]
        await told.go("checkpoints")
        table = told.screen.query_one("CheckpointPanel").query_one(RowTable)
        await told.until(lambda: table.row_count == 2)
        assert table.get_row_at(0)[-1].plain == "…/step-00000300"
        await told.until(lambda: path in screen(told.pilot.app).replace("\n", ""))
        await until_seen(told.pilot, reason)
        assert not table.show_horizontal_scrollbar
        await told.pilot.resize_terminal(160, 30)
        await told.until(lambda: "/checkpoints/" in table.get_row_at(0)[-1].plain)


async def test_what_happened_is_told_to_its_end(tmp_path: Path) -> None:
    async with story(tmp_path, (80, 24)) as told:
        told.model.history = [Happening(WALL, 1, "it was " + "long, " * 40 + "and this is its end")]
        await told.go("events")
        history = told.screen.query_one(History)
        await until_seen(told.pilot, "and this is its end")
        assert not history.show_horizontal_scrollbar
        await told.pilot.resize_terminal(60, 24)
        await until(
            told.pilot, lambda: "and this is its end" in " ".join(screen(told.pilot.app).split())
        )


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (80, "/data/runs/checkpoints/step-300"),
        (25, "…/checkpoints/step-300"),
        (12, "…/step-300"),
        (6, "…p-300"),
        (0, "…"),
    ],
)
def test_a_path_is_cut_at_its_head(cells: int, text: str) -> None:
    assert wording.path("/data/runs/checkpoints/step-300", cells) == text
