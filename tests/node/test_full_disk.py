"""A node whose disk is full: refused before, recorded after."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit_node import runs
from cockpit_node.preflight import MIN_FREE_BYTES
from cockpit_node.refused import Refused
from tests.node.rig import Rig, until

pytestmark = pytest.mark.cluster


@pytest.fixture
def small(rig: Rig) -> Iterator[Path]:
    """A state root with little more room than a run needs."""
    root = Path(rig.node.root)
    root.mkdir()
    size = MIN_FREE_BYTES + 2 * 1024 * 1024
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", root], check=True)
    try:
        yield root
    finally:
        rig.sweep()
        subprocess.run(["umount", root], check=True)


def fill(root: Path) -> None:
    with open(root / "filler", "wb", buffering=0) as file:
        until("the disk is full", lambda: not _fits(file.fileno()))


def _fits(descriptor: int) -> bool:
    try:
        os.write(
            descriptor, bytes(4096 if os.fstat(descriptor).st_size > MIN_FREE_BYTES else 1 << 20)
        )
    except OSError:
        return False
    return True


def test_a_run_on_a_disk_that_fills_up_is_stopped_and_recorded(rig: Rig, small: Path) -> None:
    words = "echo ready; trap 'exit 7' TERM; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words], units=["slot-0"]), confirm=False)
    until("it is ready", lambda: rig.stream(paths, "0.stdout"))
    fill(small)
    runs.confirm(rig.node, paths.run, paths.attempt)
    rig.state(paths, "confirmed")
    runs.stop(rig.node, paths.run, paths.attempt, 5, "the disk is full")
    end = rig.ended(paths)
    assert (end["code"], end["stopped"], end["leftovers"]) == (7, True, 0)
    with pytest.raises(Refused, match="0 MiB free, 64 MiB needed") as refused:
        runs.prepare(rig.node, rig.spec(["sleep", "600"], run="01NEXT"))
    assert (refused.value.code, refused.value.retry) == ("Disk", True)


def test_a_full_disk_does_not_keep_a_run_from_being_aborted(rig: Rig, small: Path) -> None:
    paths = rig.start(rig.spec(["sleep", "600"]))
    fill(small)
    runs.abort(rig.node, paths.run, paths.attempt, "1.1")
    assert rig.marked() == []
