"""Every panel of a job whose names, reasons and messages are hostile; and its keys and help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.core.jobs import Exit, Failure, PartState
from cockpit.ui.model import Found, Happening
from cockpit.ui.screens.job import PANELS, JobScreen
from tests.ui.job_story import append, points, write_log
from tests.ui.lab import CHINESE, HOSTILE, WALL, lab, renamed
from tests.ui.model import MemoryModel
from tests.ui.seen import OBEYED, cockpit, screen, until, until_seen

NAMES = {
    "markup": "[/red][link=https://x]a[/link][0]['b",
    "escapes": HOSTILE,
    "wide": CHINESE * 30,
    "tab": "a\tb\r\n",
}


def hostile_model(name: str, directory: Path) -> MemoryModel:
    cluster = renamed(lab(), name)
    job = cluster.jobs[1]
    end = Exit(1, name, reason=name, failure=Failure(0, None, name, name))
    parts = tuple(replace(part, state=PartState.ENDED, exit=end) for part in job.parts)
    job = replace(job, parts=parts, values={name: 1.0, "loss": float("nan")})
    with_log = write_log(directory / "1" / "1", job, 3)
    with_log.declare(name, name, 5)
    append(with_log, name, name.encode() + b"\n")
    with_log.close()
    return MemoryModel(
        replace(cluster, jobs={**cluster.jobs, 1: job}),
        found=[Found(3, name, True, "", 1, WALL, 2), Found(2, "x", False, name, 1, None, None)],
        history=[Happening(WALL, 1, name)],
        points=points(50),
        spool=directory,
    )


@pytest.mark.parametrize("panel", [name.lower() for name in PANELS])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_a_panel_shows_and_does_not_obey(name: str, panel: str, tmp_path: Path) -> None:
    model = hostile_model(name, tmp_path)
    async with cockpit(model) as pilot:
        shown = JobScreen(model, 1)
        await pilot.app.push_screen(shown)
        shown.open(panel)
        await until(pilot, lambda: shown.query_one(f"#{panel}").display)
        await pilot.pause(0.12)
        assert OBEYED.search(screen(pilot.app)) is None
        if panel == "logs":
            await pilot.press("space")
            await until_seen(pilot, "Ranks in the log")
            assert OBEYED.search(screen(pilot.app)) is None


async def test_the_key_line_and_the_help_are_those_of_the_panel(tmp_path: Path) -> None:
    model = hostile_model("lab", tmp_path)
    async with cockpit(model, 120, 60) as pilot:
        await pilot.app.push_screen(JobScreen(model, 1))
        await until_seen(pilot, "f follow")
        await pilot.press("tab")
        await until_seen(pilot, "z zoom")
        assert "f follow" not in screen(pilot.app)
        await pilot.press("tab", "tab")
        await until_seen(pilot, "restart from it")
        await pilot.press("question_mark")
        await until_seen(pilot, "Restart from it")


async def test_a_job_is_read_and_left_by_keyboard_alone(tmp_path: Path) -> None:
    model = hostile_model("lab", tmp_path)
    async with cockpit(model) as pilot:
        await pilot.press("2", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen))
        await pilot.press("tab", "tab", "l", "g", "slash", "a", "enter", "escape", "G", "q")
        await until(pilot, lambda: not isinstance(pilot.app.screen, JobScreen))
