"""How a checkpoint proves that it is complete: the names of its directory, and its manifest.

A checkpoint is a directory `step-00000040` with its files and a `manifest.json`, written last::

    {"version": 1, "step": 40, "world_size": 2, "time": 1700000000.5,
     "files": {"model.pt": {"bytes": 123, "sha256": "<64 hex digits>"}}}

It is complete if its name is `step-<digits>` and nothing more, its manifest is readable, and every
file in the manifest is there with exactly that many bytes. While it is written it has another
name, `.step-00000040.tmp-<pid>`; while it is replaced by a newer one of its step,
`.step-00000040.old-<pid>`. This is version 1. Standard library only, Python 3.9.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit_trainer import fields

MANIFEST_VERSION = 1
"""Raised when an old reader would misread a new writer."""
MANIFEST_NAME = "manifest.json"
MANIFEST_LIMIT = 16 * 1024 * 1024
"""Largest manifest that is read, in bytes."""
CHECKPOINT_NAME = re.compile(r"step-([0-9]{1,18})")
TEMPORARY_NAME = re.compile(r"\.step-[0-9]{1,18}\.(?:tmp|old)-([0-9]{1,9})")
"""What is no checkpoint yet, or none any more; the group is the pid of its writer."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileRecord:
    """What the manifest says of one file."""

    bytes: int
    sha256: str
    """64 lower-case hex digits."""


@dataclass(frozen=True)
class Manifest:
    """What a complete checkpoint holds."""

    step: int
    """Steps done when it was saved, and where a run resumed from it goes on."""
    world_size: int
    """Ranks that trained it."""
    time: float
    """Unix seconds on the clock of the writer."""
    files: Mapping[str, FileRecord]


class ManifestError(Exception):
    """Why a directory is no complete checkpoint, as one sentence."""


def checkpoint_name(step: int) -> str:
    return f"step-{step:08d}"


def step_of(checkpoint: Path) -> int:
    """The step in the name of a checkpoint."""
    return int(checkpoint.name.partition("-")[2])


def temporary_name(step: int, pid: int) -> str:
    """The name while process `pid` writes it."""
    return f".step-{step:08d}.tmp-{pid}"


def replaced_name(step: int, pid: int) -> str:
    """The name while process `pid` puts a newer one of the same step in its place."""
    return f".step-{step:08d}.old-{pid}"


def format_manifest(manifest: Manifest) -> str:
    """The text of `manifest.json`."""
    body = {
        "version": MANIFEST_VERSION,
        "step": manifest.step,
        "world_size": manifest.world_size,
        "time": manifest.time,
        "files": {
            name: {"bytes": record.bytes, "sha256": record.sha256}
            for name, record in sorted(manifest.files.items())
        },
    }
    return json.dumps(body, indent=1, allow_nan=False) + "\n"


def parse_manifest(text: str) -> Manifest:
    """The manifest in any text, or a ManifestError."""
    try:
        body = json.loads(text)
        if fields.whole(body["version"]) != MANIFEST_VERSION:
            raise ManifestError(
                f"its manifest has version {body['version']}, and this program reads only "
                f"version {MANIFEST_VERSION}; resume with the version that wrote it"
            )
        return Manifest(
            step=fields.count(body["step"]),
            world_size=fields.count(body["world_size"]),
            time=fields.finite(body["time"]),
            files={_file_name(name): _record(entry) for name, entry in body["files"].items()},
        )
    except fields.MALFORMED as why:
        raise ManifestError(f"its manifest is unreadable ({type(why).__name__}: {why})") from why


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a complete checkpoint; a ManifestError says why it is not complete.

    The sizes of the files are compared, not their contents: loading does that.
    """
    name = CHECKPOINT_NAME.fullmatch(directory.name)
    if name is None:
        raise ManifestError(f"{directory.name!r} is not named step-<number>")
    try:
        with (directory / MANIFEST_NAME).open("rb") as file:
            content = file.read(MANIFEST_LIMIT + 1)
        if len(content) > MANIFEST_LIMIT:
            raise ManifestError(f"its manifest is over {MANIFEST_LIMIT} bytes")
        manifest = parse_manifest(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as why:
        raise ManifestError(f"its manifest cannot be read ({why})") from why
    if manifest.step != int(name[1]):
        raise ManifestError(f"its manifest says step {manifest.step}, its name step {name[1]}")
    for file_name, record in manifest.files.items():
        _compare_size(directory / file_name, record)
    return manifest


def named_checkpoints(directory: Path) -> list[Path]:
    """Every entry named like a checkpoint, complete or not, highest step first."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if CHECKPOINT_NAME.fullmatch(path.name)]
    return sorted(found, key=step_of, reverse=True)


def complete_checkpoints(directory: Path) -> list[Path]:
    """The complete ones, highest step first; none where the directory does not exist."""
    return [path for path in named_checkpoints(directory) if _is_complete(path)]


def _is_complete(directory: Path) -> bool:
    try:
        read_manifest(directory)
    except ManifestError:
        return False
    return True


def _compare_size(path: Path, record: FileRecord) -> None:
    try:
        found = path.lstat()
    except OSError as why:
        raise ManifestError(f"{path.name} cannot be read ({why.strerror})") from why
    if not stat.S_ISREG(found.st_mode):
        raise ManifestError(f"{path.name} is not a plain file")
    if found.st_size != record.bytes:
        raise ManifestError(f"{path.name} has {found.st_size} bytes instead of {record.bytes}")


def _record(entry: Any) -> FileRecord:
    digest = fields.text(entry["sha256"])
    if not _SHA256.fullmatch(digest):
        raise ValueError("not a sha256")
    return FileRecord(fields.count(entry["bytes"]), digest)


def _file_name(name: str) -> str:
    """A name inside the checkpoint's own directory, or a ValueError."""
    fields.text(name)
    if not name or "/" in name or "\0" in name or name in (".", "..", MANIFEST_NAME):
        raise ValueError(f"{name!r} is no file name")
    return name
