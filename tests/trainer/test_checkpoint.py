"""Checkpoints are complete or absent, and damage is found."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cockpit_trainer.manifest import (
    ManifestError,
    complete_checkpoints,
    read_manifest,
    replaced_name,
    temporary_name,
)

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("torch")]


@pytest.fixture
def dead_pid() -> int:
    """A pid that was somebody's a moment ago."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_what_was_written_is_read_back(tmp_path: Path, torch: ModuleType) -> None:
    from cockpit_trainer.checkpoint import load_part, read_part, write

    weights = torch.arange(6.0).reshape(2, 3)
    path = write(tmp_path, 40, 2, {"model": {"w": weights}, "notes": [1, "two", None, 3.5]})
    assert path.name == "step-00000040"
    manifest = read_manifest(path)
    assert manifest.world_size == 2
    parts = {
        name: load_part(read_part(path / name, record)) for name, record in manifest.files.items()
    }
    assert torch.equal(parts["model.pt"]["w"], weights)
    assert parts["notes.pt"] == [1, "two", None, 3.5]


def test_one_flipped_bit_is_found(tmp_path: Path) -> None:
    from cockpit_trainer.checkpoint import read_part, write

    path = write(tmp_path, 40, 1, {"notes": "x" * 1000})
    content = bytearray((path / "notes.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (path / "notes.pt").write_bytes(content)
    record = read_manifest(path).files["notes.pt"]
    with pytest.raises(ManifestError, match=r"notes\.pt is damaged"):
        read_part(path / "notes.pt", record)


@pytest.mark.cluster
def test_a_full_disk_says_so_and_leaves_the_older_checkpoint_alone(
    small_disk: Path, torch: ModuleType
) -> None:
    from cockpit_trainer.checkpoint import CheckpointError, write

    older = write(small_disk, 1, 1, {"model": torch.zeros(10_000)})
    with pytest.raises(CheckpointError, match=r"No space left on device.*are unharmed. Make room"):
        write(small_disk, 2, 1, {"model": torch.zeros(100_000)})
    assert list(small_disk.iterdir()) == [older]
    read_manifest(older)


def test_a_checkpoint_of_the_same_step_is_replaced_whole(tmp_path: Path) -> None:
    from cockpit_trainer.checkpoint import load_part, read_part, write

    write(tmp_path, 40, 1, {"notes": "old", "more": "old"})
    path = write(tmp_path, 40, 1, {"notes": "new"})
    ((name, record),) = read_manifest(path).files.items()
    assert load_part(read_part(path / name, record)) == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_of_the_dead_are_swept_and_those_of_the_living_kept(
    tmp_path: Path, dead_pid: int
) -> None:
    from cockpit_trainer.checkpoint import write

    (tmp_path / temporary_name(7, dead_pid)).mkdir()
    (tmp_path / replaced_name(6, dead_pid)).mkdir()
    (tmp_path / temporary_name(8, os.getpid())).mkdir()
    (tmp_path / temporary_name(9, os.getppid())).mkdir()
    (tmp_path / "notes.tmp").mkdir()
    write(tmp_path, 40, 1, {"notes": "x"})
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [temporary_name(9, os.getppid()), "notes.tmp", "step-00000040"]


def test_pruning_spares_the_newest_and_the_one_that_was_resumed_from(tmp_path: Path) -> None:
    from cockpit_trainer.checkpoint import prune, write

    first, *others = [write(tmp_path, step, 1, {"notes": step}) for step in range(1, 6)]
    prune(tmp_path, 0, [])
    assert len(complete_checkpoints(tmp_path)) == 5
    prune(tmp_path, 2, [first])
    assert complete_checkpoints(tmp_path) == [others[3], others[2], first]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("name", "part", "why"),
    [
        ("model", {"layer": {1, 2}}, r"model\.layer is of the type set"),
        ("model", {"path": Path("x")}, r"model\.path is of the type PosixPath"),
        ("model", [object()], r"model\.0 is of the type object"),
        ("../model", {}, "named '../model'"),
    ],
)
def test_what_could_not_be_loaded_again_is_not_saved(
    tmp_path: Path, name: str, part: object, why: str
) -> None:
    from cockpit_trainer.checkpoint import CheckpointError, write

    with pytest.raises(CheckpointError, match=why):
        write(tmp_path, 1, 1, {name: part})
    assert list(tmp_path.iterdir()) == []


def test_every_generator_goes_on_where_it_was(torch: ModuleType) -> None:
    from cockpit_trainer import rng

    random.gauss()  # Leaves its second value waiting.
    state = rng.capture()
    first = random.gauss(), random.random(), torch.rand(3).tolist()
    rng.restore(state)
    assert (random.gauss(), random.random(), torch.rand(3).tolist()) == first
