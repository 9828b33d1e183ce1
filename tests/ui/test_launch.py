"""The form of a new job: it shows beginnings, and what it queues is what is typed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cockpit.core.request import Request
from cockpit.ui.draft import LABELS
from cockpit.ui.screens.launch import LaunchScreen
from cockpit.ui.screens.queue import QueueScreen
from tests.ui.lab import cluster, job, lab
from tests.ui.model import MemoryModel
from tests.ui.seen import cockpit, screen, until, until_seen

LONG = ("torchrun", "--nproc-per-node", "8", "/data/projects/begin.py", "--tail", "x" * 80)


def with_long_command() -> MemoryModel:
    """One job of 2x1 whose typed torchrun says otherwise."""
    found = lab()
    one = replace(job(3, gpus=1), request=replace(job(3, gpus=1).request, argv=LONG))
    return MemoryModel(cluster(found.nodes, one))


async def test_a_form_filled_from_a_job_shows_the_head_of_its_command() -> None:
    async with cockpit(with_long_command()) as pilot:
        await pilot.press("2", "n")
        await until_seen(pilot, "torchrun --nproc-per-node 8 /data/projects/begin.py")
        await pilot.press("tab", "shift+tab")
        await until_seen(pilot, "torchrun --nproc-per-node 8 /data/projects/begin.py")


@pytest.mark.parametrize("hint", [hint for _, hint in LABELS.values()])
def test_a_hint_fits_into_half_of_the_narrowest_screen_with_two_sides(hint: str) -> None:
    assert cell_len(hint) <= 36


async def test_what_is_typed_at_the_moment_is_queued() -> None:
    model = MemoryModel(cluster(lab(2).nodes))
    async with cockpit(model) as pilot:
        await pilot.press("n", *"train.py --seed 12345", "ctrl+s")
        ((_, request),) = model.orders
        assert isinstance(request, Request)
        assert request.argv == ("train.py", "--seed", "12345")
        await until_seen(pilot, "Job queued: train.")


async def test_enter_in_the_last_field_queues_with_all_of_that_field() -> None:
    model = MemoryModel(cluster(lab(2).nodes))
    async with cockpit(model) as pilot:
        await pilot.press("n", *"t.py", *["enter"] * (len(LABELS) - 1), *"77", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, QueueScreen))
        ((_, request),) = model.orders
        assert isinstance(request, Request)
        assert request.grace_s == 77


async def test_the_commands_are_soon_those_of_what_was_typed() -> None:
    async with cockpit(MemoryModel(cluster(lab(2).nodes)), 120, 40) as pilot:
        await pilot.press("n", *"train.py --seed 1")
        await until(pilot, lambda: screen(pilot.app).count("--seed 1") == 2)
        await pilot.press(*"23")
        await until(pilot, lambda: screen(pilot.app).count("--seed 123") == 2)


async def test_a_typed_topology_that_does_not_hold_is_said_in_form_and_job() -> None:
    words = "typed --nproc-per-node 8 is replaced by -G 1"
    async with cockpit(with_long_command(), 120, 40) as pilot:
        await pilot.press("2", "n")
        await until_seen(pilot, words)
        assert isinstance(pilot.app.screen, LaunchScreen)
        await pilot.press("escape", "enter", "shift+tab")
        await until_seen(pilot, words)
