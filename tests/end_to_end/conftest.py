"""The operator's machine that each story starts with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.lab import Lab
from tests.end_to_end.world import World


@pytest.fixture
def world(lab: Lab, tmp_path: Path) -> Iterator[World]:
    """A configured cockpit over three nodes; no engine runs yet."""
    made = World(lab, tmp_path)
    yield made
    made.close()


@pytest.fixture
def running(world: World) -> World:
    """The same with an engine."""
    world.start_daemon()
    return world
