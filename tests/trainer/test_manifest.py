"""When a checkpoint counts as complete, and why it does not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit_trainer.manifest import (
    MANIFEST_NAME,
    FileRecord,
    Manifest,
    ManifestError,
    checkpoint_name,
    complete_checkpoints,
    format_manifest,
    parse_manifest,
    read_manifest,
    replaced_name,
    temporary_name,
)

CONTENT = b"weights"
RECORD = FileRecord(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def plant(directory: Path, step: int, name: str | None = None) -> Path:
    """A complete checkpoint of one file, under its own name or another."""
    checkpoint = directory / (name or checkpoint_name(step))
    checkpoint.mkdir()
    (checkpoint / "model.pt").write_bytes(CONTENT)
    manifest = Manifest(step, 2, 1700000000.5, {"model.pt": RECORD})
    (checkpoint / MANIFEST_NAME).write_text(format_manifest(manifest))
    return checkpoint


def test_a_complete_checkpoint_says_what_it_holds(tmp_path: Path) -> None:
    manifest = read_manifest(plant(tmp_path, 40))
    assert manifest == Manifest(40, 2, 1700000000.5, {"model.pt": RECORD})
    assert json.loads(format_manifest(manifest)) == {
        "version": 1,
        "step": 40,
        "world_size": 2,
        "time": 1700000000.5,
        "files": {"model.pt": {"bytes": 7, "sha256": RECORD.sha256}},
    }


def test_the_newest_comes_first_by_number_and_temporaries_do_not_count(tmp_path: Path) -> None:
    plant(tmp_path, 9)
    plant(tmp_path, 200_000_000)
    plant(tmp_path, 10)
    plant(tmp_path, 50, temporary_name(50, 123))
    plant(tmp_path, 60, replaced_name(60, 123))
    plant(tmp_path, 70, "step-70.tmp")
    (tmp_path / "step-80").write_text("a file")
    (tmp_path / "step-90").mkdir()
    found = [path.name for path in complete_checkpoints(tmp_path)]
    assert found == ["step-200000000", "step-00000010", "step-00000009"]
    assert complete_checkpoints(tmp_path / "nowhere") == []


def test_a_checkpoint_that_lacks_bytes_says_which_file_and_how_many(tmp_path: Path) -> None:
    checkpoint = plant(tmp_path, 40)
    (checkpoint / "model.pt").write_bytes(CONTENT[:-1])
    with pytest.raises(ManifestError, match=r"model\.pt has 6 bytes instead of 7"):
        read_manifest(checkpoint)
    (checkpoint / "model.pt").unlink()
    with pytest.raises(ManifestError, match=r"model\.pt cannot be read \(No such file"):
        read_manifest(checkpoint)
    (checkpoint / "model.pt").symlink_to(tmp_path)
    with pytest.raises(ManifestError, match=r"model\.pt is not a plain file"):
        read_manifest(checkpoint)


def test_a_manifest_of_another_step_or_version_is_refused(tmp_path: Path) -> None:
    checkpoint = plant(tmp_path, 40, "step-00000041")
    with pytest.raises(ManifestError, match="says step 40"):
        read_manifest(checkpoint)
    with pytest.raises(ManifestError, match="version 2, and this program reads only version 1"):
        parse_manifest('{"version": 2}')


@pytest.mark.parametrize("name", ["../model.pt", "a/b", "/etc/passwd", "..", "", MANIFEST_NAME])
def test_no_file_outside_the_checkpoint_can_be_named(name: str) -> None:
    text = format_manifest(Manifest(40, 2, 0.0, {name: RECORD}))
    with pytest.raises(ManifestError, match="is no file name"):
        parse_manifest(text)


@given(st.data())
def test_a_manifest_cut_at_any_byte_is_refused(data: st.DataObject) -> None:
    text = format_manifest(Manifest(40, 2, 0.0, {"model.pt": RECORD})).rstrip()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ManifestError):
        parse_manifest(text[:cut])


@given(st.text(max_size=100))
def test_no_text_in_place_of_a_manifest_is_fatal(text: str) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(text)
