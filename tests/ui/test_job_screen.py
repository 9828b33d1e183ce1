"""The job screen by keyboard alone: log, graphs, ranks, checkpoints, history, commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Label, Static

from cockpit.core.jobs import Exit, Failure, Job, JobState, PartState
from cockpit.engine.spool import AttemptSpool
from cockpit.ui.app import CockpitApp
from cockpit.ui.dialogs.restart import Restart
from cockpit.ui.model import Happening
from cockpit.ui.screens.events import History
from cockpit.ui.screens.job import JobScreen
from cockpit.ui.screens.rank_picker import RankPicker
from cockpit.ui.widgets.graphs import Graph, Graphs
from cockpit.ui.widgets.log_panel import LogPanel
from cockpit.ui.widgets.log_view import LogView
from cockpit.ui.widgets.rank_table import RankTable
from cockpit.ui.widgets.row_table import RowTable
from tests.ui.job_story import CHECKPOINTS, append, points, write_log
from tests.ui.lab import WALL
from tests.ui.model import MemoryModel


@dataclass
class Story:
    """A cockpit on a job's screen and the writer of its log."""

    pilot: Pilot[Any]
    model: MemoryModel
    spool: AttemptSpool

    @property
    def screen(self) -> JobScreen:
        shown = next(one for one in self.pilot.app.screen_stack if isinstance(one, JobScreen))
        return shown

    @property
    def log(self) -> LogView:
        return self.screen.query_one(LogView)

    @property
    def text(self) -> list[str]:
        """The rows of the log as they are drawn."""
        height = self.log.size.height
        return [self.log.render_line(y).text.rstrip() for y in range(height)]

    @property
    def status(self) -> str:
        return str(self.screen.query_one("LogStatus").render()).strip()

    def change(self, **fields: Any) -> None:
        cluster = self.model.cluster
        job = replace(cluster.jobs[1], **fields)
        self.model.cluster = replace(cluster, jobs={**cluster.jobs, 1: job})

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await self.pilot.pause()

    async def go(self, panel: str) -> None:
        while self.screen.panel != panel:
            await self.pilot.press("tab")


@asynccontextmanager
async def story(directory: Path, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Story]:
    model = MemoryModel(spool=directory, points=points(), found=CHECKPOINTS)
    job = model.cluster.jobs[1]
    spool = write_log(directory / "1" / "1", job)
    app = CockpitApp(model)
    async with app.run_test(size=size) as pilot:
        await app.push_screen(JobScreen(model, 1))
        told = Story(pilot, model, spool)
        await told.until(lambda: any("step 200" in row for row in told.text))
        yield told
    spool.close()


async def test_the_header_says_what_where_and_how_far(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        header = str(told.screen.query_one("JobHeader").render())
        assert "A llama-1b  #1  RUNNING  attempt 1  2x8 gpu[1-2]" in header
        assert "step 41,200  loss 2.113  128k tok/s  checkpoint 41,000" in header
        told.change(phase="saving step 41,250: 12 GB", reason="x[/] \x1b]0;t\x07")
        await told.until(lambda: "saving step" in str(told.screen.query_one("JobHeader").render()))
        assert "x[/] ␛]0;t␇" in str(told.screen.query_one("JobHeader").render())


async def test_the_log_follows_its_end_and_pauses_when_somebody_looks_back(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        assert told.log.following
        assert "following" in told.status
        append(told.spool, "5.stdout", b"five is here\n")
        await told.until(lambda: any("5@gpu1 │ five is here" in row for row in told.text))
        await told.pilot.press("g")
        await told.until(lambda: told.log.scroll_y == 0)
        assert told.text[0].endswith("torchrun: rendezvous on 10.0.0.1:29611")
        assert told.text[0].startswith("run@gpu1")
        append(told.spool, "5.stdout", b"and again\nand again\n")
        await told.until(lambda: "2 new of" in told.status)
        assert told.log.scroll_y == 0
        await told.pilot.press("f")
        await told.until(lambda: "following" in told.status)
        await told.until(lambda: any("and again" in row for row in told.text))
        await told.pilot.press("k")
        await told.until(lambda: "paused" in told.status)
        await told.pilot.press("j")
        await told.until(lambda: "following" in told.status)


async def test_metric_lines_are_read_out_and_stderr_is_marked_by_a_sign(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.until(lambda: any("warm" in row for row in told.text))
        rows = told.text
        assert any("step 200  loss 2.025  lr 3.0e-04  tokens_per_s 100k" in row for row in rows)
        assert any("3@gpu1 ! UserWarning" in row for row in rows)
        bars = [row for row in rows if "it/s" in row]
        assert [row.split("!")[1].strip()[:7] for row in bars] == ["200/200"]


async def test_ranks_are_picked_by_space_and_the_place_is_kept(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.pilot.press("space")
        await told.until(lambda: isinstance(told.pilot.app.screen, RankPicker))
        await told.pilot.press("a", "down", "down", "space", "enter")
        await told.until(lambda: isinstance(told.pilot.app.screen, JobScreen))
        await told.until(lambda: all("2@gpu1" in row for row in told.text if row))
        assert "ranks 2" in told.status
        await told.pilot.press("space")
        await told.until(lambda: isinstance(told.pilot.app.screen, RankPicker))
        await told.pilot.press("escape")
        await told.until(lambda: isinstance(told.pilot.app.screen, JobScreen))
        assert told.screen.query_one(LogPanel).picked == frozenset({2})


async def test_long_lines_move_sideways_under_their_prefix(tmp_path: Path) -> None:
    async with story(tmp_path, (80, 24)) as told:
        append(told.spool, "0.stdout", b"begin " + b"-" * 200 + b" end\n")
        await told.until(lambda: any("begin" in row for row in told.text))
        row = next(row for row in told.text if "begin" in row)
        assert row.endswith("▸")
        assert len(row) == told.log.scrollable_content_region.width
        await told.pilot.press(*["right"] * 12)
        await told.until(lambda: any(row.endswith("- end") for row in told.text))
        assert any(row.lstrip().startswith("0@gpu1") for row in told.text)
        await told.pilot.press(*["left"] * 12)
        await told.until(lambda: any("begin" in row for row in told.text))


async def test_a_text_is_found_upwards_and_downwards(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.pilot.press("slash", *"RANK 7 DID STEP 19", "enter")
        await told.until(lambda: "/RANK 7 DID STEP 19: line" in told.status)
        await told.until(lambda: any("rank 7 did step 199" in row for row in told.text))
        assert not told.log.following
        await told.pilot.press("n")
        await told.until(lambda: any("rank 7 did step 198" in row for row in told.text))
        await told.pilot.press("N", "N")
        await told.until(lambda: "none below" in told.status)
        await told.pilot.press(*["n"] * 12)
        await told.until(lambda: any("rank 7 did step 19" in row for row in told.text))
        await told.pilot.press("n")
        await told.until(lambda: "none above" in told.status)
        await told.pilot.press("escape")
        await told.until(lambda: "none above" not in told.status)
        assert isinstance(told.pilot.app.screen, JobScreen)


async def test_metric_lines_are_found_by_their_words(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.pilot.press("slash", *"step 100  loss", "enter")
        await told.until(lambda: any("step 100  loss" in row for row in told.text))
        await told.pilot.press("slash", "escape")
        await told.until(lambda: told.log.has_focus)
        assert told.screen.query_one(LogPanel).view.search is not None


async def test_another_attempt_is_a_bracket_away(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        second = AttemptSpool(tmp_path / "1" / "2")
        told.change(attempt=2)
        await told.until(lambda: "no output yet" in told.status)
        append(second, "0.stdout", b"from the second\n")
        await told.until(lambda: any("from the second" in row for row in told.text))
        await told.pilot.press("left_square_bracket")
        await told.until(lambda: any("step 200" in row for row in told.text))
        assert "showing attempt 1 of 2" in str(told.screen.query_one("JobHeader").render())
        await told.pilot.press("right_square_bracket")
        await told.until(lambda: any("from the second" in row for row in told.text))
        second.close()


async def test_graphs_show_the_newest_value_and_zoom(tmp_path: Path) -> None:
    async with story(tmp_path, (120, 40)) as told:
        await told.go("graphs")
        graphs = told.screen.query_one(Graphs)
        loss = next(iter(graphs.query(Graph)))
        await told.until(lambda: "loss 2.382" in str(loss.render()))
        assert sum(one.display for one in graphs.query(Graph)) == 3
        await told.pilot.press("enter")
        await told.until(lambda: sum(one.display for one in graphs.query(Graph)) == 1)
        await told.pilot.press("right")
        await told.until(
            lambda: [g.topic.metric for g in graphs.query(Graph) if g.display] == ["tokens_per_s"]
        )


async def test_a_graph_without_data_says_what_it_waits_for(tmp_path: Path) -> None:
    async with story(tmp_path, (60, 20)) as told:
        told.model.points = {}
        await told.go("graphs")
        shown = [one for one in told.screen.query(Graph) if one.display]
        assert len(shown) == 1
        assert "waits for the first step that logs a loss" in str(shown[0].render())


async def test_ranks_tell_who_failed_first(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.go("ranks")
        table = told.screen.query_one(RankTable)
        await told.until(lambda: table.row_count == 16)
        assert [cell.plain for cell in table.get_row("13")] == [
            " ",
            "13",
            "gpu2",
            "5",
            "41013",
            "running",
            "",
        ]
        parts = told.model.cluster.jobs[1].parts
        end = Exit(1, failure=Failure(13, None, "SIGKILL", "out of memory \x1b[2J"))
        dead = (parts[0], replace(parts[1], state=PartState.ENDED, exit=end))
        told.change(parts=dead, state=JobState.COMPLETING)
        await told.until(lambda: "failed first" in table.get_row("13")[-1].plain)
        assert table.get_row("13")[-1].plain.endswith("killed by SIGKILL out of memory ␛[2J")
        assert table.get_row("12")[-1].plain == "launcher's code 1"
        await told.pilot.press("down", "down", "space", "enter")
        await told.until(lambda: told.screen.panel == "logs")
        await told.until(lambda: all("2@gpu1" in row for row in told.text if row))


async def test_enter_on_a_checkpoint_asks_to_restart_from_it(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.go("checkpoints")
        panel = told.screen.query_one("CheckpointPanel")
        await told.until(lambda: panel.query_one(RowTable).row_count == 3)
        state = [panel.query_one(RowTable).get_row_at(n)[1].plain for n in range(2)]
        assert state == ["✗ no manifest: saving was cut off", "complete"]
        await told.pilot.press("down", "down", "enter")
        await told.until(lambda: isinstance(told.pilot.app.screen, Restart))


async def test_a_node_that_cannot_be_asked_is_told_in_words(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        told.model.found = "gpu1 does not answer; wait for it\x1b[2J"
        await told.go("checkpoints")
        label = told.screen.query_one("CheckpointPanel").query_one(Label)
        await told.until(lambda: "gpu1 does not answer; wait for it␛[2J" in str(label.render()))


async def test_the_history_is_the_jobs_own(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        told.model.history = [Happening(WALL, 1, "placed"), Happening(WALL, 2, "of another")]
        await told.go("events")
        history = told.screen.query_one(History)
        await told.until(lambda: history.row_count == 1)


async def test_the_commands_are_those_of_the_plan(tmp_path: Path) -> None:
    async with story(tmp_path, (120, 60)) as told:
        await told.go("command")
        text = str(told.screen.query_one("CommandPanel").query_one(Static).render())
        assert "# gpu2: ranks 8-15" in text
        assert "torch.distributed.run" in text


async def test_a_pending_job_says_why_there_is_no_log(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        pending: Job = told.model.cluster.jobs[3]
        await told.pilot.app.push_screen(JobScreen(told.model, 3))
        panel = told.pilot.app.screen.query_one(LogPanel)
        await told.until(lambda: pending.reason in str(panel.query_one("LogStatus").render()))


HOSTILE = (
    b"\x1b]0;owned\x07",
    b"\x1b]52;c;aGFja2Vk\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1b[2J\x1b[H",
    b"\x9b2J",
    "\u009b31m".encode(),
    "\u202eevil".encode(),
    b"\x00\x7f\x08",
    b"[/] [/red] [link=https://x]a[/link]",
    b"\xff\xfe\xed\xa0\x80",
    b"x" * 200_000,
    "训练 损失".encode(),
    b'[cockpit] {"v":1,"kind":"phase","name":"\\u001b]0;x\\u0007","detail":""}',
)


@pytest.mark.parametrize("size", [(80, 24), (30, 10)])
async def test_nothing_a_rank_prints_reaches_the_terminal(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with story(tmp_path, (100, 40)) as told:
        await told.pilot.resize_terminal(*size)
        for number, line in enumerate(HOSTILE):
            append(told.spool, "0.stdout", line + b"\n")
            append(told.spool, f"\x1b]0;{number}\x07.stderr", line)
            told.spool.declare(f"\x1b]0;{number}\x07.stderr", "\x1b[2J\n[/]", number)
        await told.until(lambda: told.log.line_count > 3400 + 2 * len(HOSTILE))
        await told.pilot.press("f", *["k"] * 20)
        for offset in range(3350, told.log.line_count):
            told.log.scroll_to(y=offset, animate=False, immediate=True)
            for row in told.text:
                assert not {char for char in row if char < " " or "\x7f" <= char <= "\x9f"}
                assert "\u202e" not in row
            assert {told.log.render_line(y).cell_length for y in range(5)} == {
                told.log.scrollable_content_region.width
            }
