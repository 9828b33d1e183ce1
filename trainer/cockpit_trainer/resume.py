"""Finds the checkpoint to go on from, and gives it to every rank, wherever its disk is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit_trainer.checkpoint import CheckpointError, load_part, read_part
from cockpit_trainer.distributed import Peers
from cockpit_trainer.emit import complain
from cockpit_trainer.manifest import ManifestError, named_checkpoints, read_manifest


@dataclass(frozen=True)
class Resumed:
    """A checkpoint, loaded on this rank."""

    path: Path
    """On the node of rank 0."""
    step: int
    """Steps done when it was saved: the loop goes on with this one."""
    world_size: int
    """Ranks that saved it; with another number the run goes on, but not bit for bit."""
    parts: Mapping[str, Any]
    """What was given to `save`, as state dicts, on the CPU."""

    def __getitem__(self, part: str) -> Any:
        return self.parts[part]


@dataclass(frozen=True)
class _Found:
    """A checkpoint whose every byte is as it was written."""

    path: Path
    step: int
    world_size: int
    contents: Mapping[str, bytearray]
    """By file name."""


def resume(directory: Path | None, resume_from: Path | None, peers: Peers) -> Resumed | None:
    """Load `resume_from`, else the newest undamaged checkpoint in `directory`, else nothing.

    Rank 0 alone reads; its verdict and the bytes go to all, so that no rank goes on alone.
    """
    found, verdict = None, None
    if peers.rank == 0:
        try:
            found = _find(directory, resume_from)
            verdict = _encode(_describe(found))
        except CheckpointError as why:
            verdict = _encode({"refused": str(why)})
    header = json.loads(peers.broadcast(verdict))
    if "refused" in header:
        raise CheckpointError(header["refused"])
    if not header:
        return None
    parts = {}
    for name in header["files"]:
        content = peers.broadcast(found.contents[name] if found else None)
        parts[Path(name).stem] = load_part(content)
    return Resumed(Path(header["path"]), header["step"], header["world_size"], parts)


def _find(directory: Path | None, resume_from: Path | None) -> _Found | None:
    if resume_from is not None:
        try:
            return _read(resume_from)
        except ManifestError as why:
            raise CheckpointError(
                f"{resume_from} is no complete checkpoint: {why}; "
                "name another one to resume from, or none to start anew."
            ) from why
    candidates = named_checkpoints(directory) if directory is not None else []
    return next(filter(None, map(_read_or_pass_over, candidates)), None)


def _read_or_pass_over(path: Path) -> _Found | None:
    try:
        return _read(path)
    except ManifestError as why:
        complain(f"{path.name} was passed over: {why}; an older checkpoint is used if any is.")
        return None


def _read(path: Path) -> _Found:
    manifest = read_manifest(path)
    contents = {name: read_part(path / name, record) for name, record in manifest.files.items()}
    return _Found(path, manifest.step, manifest.world_size, contents)


def _describe(found: _Found | None) -> dict[str, Any]:
    """The header that all ranks read before the bytes."""
    if found is None:
        return {}
    return {
        "path": str(found.path),
        "step": found.step,
        "world_size": found.world_size,
        "files": sorted(found.contents),
    }


def _encode(header: dict[str, Any]) -> bytearray:
    return bytearray(json.dumps(header).encode())
