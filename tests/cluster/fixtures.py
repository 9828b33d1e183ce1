"""The lab that tests share: three nodes a session, new machines for every test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.cluster.lab import Lab


@pytest.fixture(scope="session")
def shared_lab() -> Iterator[Lab]:
    """The session's nodes; `lab` is the one to ask for."""
    with Lab.start(int(os.environ.get("COCKPIT_TEST_NODES", "3"))) as lab:
        yield lab


@pytest.fixture
def lab(shared_lab: Lab) -> Iterator[Lab]:
    """Running nodes with nothing on them; a process of a run that is left afterwards fails."""
    yield shared_lab
    left = _marked(shared_lab)
    shared_lab.wipe()
    assert not left, f"processes of runs were left on the nodes: {left}"


@pytest.fixture
def start_lab() -> Iterator[Callable[..., Lab]]:
    """Starts further labs, with `Lab.start`'s arguments, for tests that need their own."""
    with ExitStack() as open_labs:
        yield lambda *args, **kwargs: open_labs.enter_context(Lab.start(*args, **kwargs))


def _marked(lab: Lab) -> list[str]:
    return [f"{proc.mark}: {proc}" for node in lab.nodes.values() for proc in node.marked()]
