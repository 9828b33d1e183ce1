"""A whole session at the screen, in a real terminal, on real nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.end_to_end import standin
from tests.end_to_end.terminal import Terminal
from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.terminal]

TALKING = """
import os, time
for number in range(100_000):
    print("rank", os.environ["RANK"], "says", number)
    time.sleep(0.2)
"""
Open = Callable[[], Terminal]


@pytest.fixture
def open_cockpit(world: World) -> Iterator[Open]:
    opened: list[Terminal] = []

    def open_one() -> Terminal:
        for terminal in opened:
            terminal.close()
        opened[:] = [Terminal(world.directory, world.argv, world.environment)]
        return opened[0]

    yield open_one
    for terminal in opened:
        terminal.close()


def test_a_day_at_the_screen(world: World, open_cockpit: Open) -> None:
    standin.put(world)
    world.put("talk.py", TALKING)
    screen = open_cockpit()
    screen.until_seen("gpu1", "gpu2", "gpu3", "engine: here")
    _fill_in_and_submit(screen)
    job = world.until_state(1, "running")
    _read_the_log(screen)

    screen.kill()
    for name in job["nodes"]:
        assert world.lab.nodes[name].marked(job["run"])
    screen = open_cockpit()
    screen.until_seen("gpu1", "gpu2", "gpu3", "engine: here")
    _read_the_log(screen)

    screen.press("1")
    screen.until_seen("▸1 Cluster")
    screen.press("q")
    screen.until_seen("Quit? The jobs go on.", "job 1 talk goes on")
    screen.press("Enter")
    screen.until_ended()
    assert world.lab.nodes[job["nodes"][0]].marked(job["run"])

    screen = open_cockpit()
    screen.until_seen("gpu1", "engine: here")
    screen.press("2")
    screen.until_seen("talk", "2x2")
    screen.press("c")
    screen.until_seen("Cancel this job?", "2 s to save and end")
    screen.press("y")
    world.until_state(1, "cancelled", patience_s=30)
    world.assert_nothing_left(job)
    screen.press("1")
    screen.until_seen("▸1 Cluster")
    screen.press("q")
    screen.until_ended()


def _read_the_log(screen: Terminal) -> None:
    screen.press("2")
    screen.until_seen("talk", "2x2")
    screen.press("l")
    screen.until_seen("rank 0 says", "rank 3 says")


def _fill_in_and_submit(screen: Terminal) -> None:
    screen.press("n")
    screen.until_seen("GPUs a node", "checkpoints")
    fields = ("talk.py", "2", "2", "", "", f"PYTHONPATH={standin.PLACE}", "", "", "", "", "")
    for typed in fields[:-1]:
        if typed:
            screen.type(typed)
        screen.press("Enter")
    screen.type("2")
    screen.until_seen("It fits now, on gpu1, gpu2.", "# gpu1: ranks 0-1, units 0,1")
    screen.press("C-s")
