"""A node for each test, swept when the test is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.rig import Rig


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv("COCKPIT_NODE_LOCKS", str(tmp_path / "locks"))
    made = Rig(tmp_path)
    try:
        yield made
        assert made.marked() == [], "a process of a run outlived its test"
    finally:
        made.sweep()
