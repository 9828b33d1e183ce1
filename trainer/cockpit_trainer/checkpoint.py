"""Writes checkpoints that are complete or absent, and reads back only what is undamaged.

The files are written into a directory with a temporary name, each synced; the manifest comes last;
then the directory is renamed. A process that dies at any point leaves the older checkpoints as they
were. Loading compares each file with its sha256: a zip with flipped bytes loads without complaint.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import re
import shutil
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import torch

from cockpit_trainer.manifest import (
    MANIFEST_NAME,
    TEMPORARY_NAME,
    FileRecord,
    Manifest,
    ManifestError,
    checkpoint_name,
    complete_checkpoints,
    format_manifest,
    replaced_name,
    step_of,
    temporary_name,
)

_PLAIN_TYPES = (
    torch.Tensor,
    torch.nn.Parameter,
    torch.Size,
    torch.dtype,
    torch.device,
    bool,
    int,
    float,
    str,
    bytes,
    type(None),
)
_PART_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CheckpointError(Exception):
    """Why a checkpoint could not be written or used, as one sentence and what to do."""


def write(directory: Path, step: int, world_size: int, parts: Mapping[str, Any]) -> Path:
    """Save `parts`, each as `<name>.pt`; return the directory of the new, complete checkpoint."""
    for name, part in parts.items():
        if not _PART_NAME.fullmatch(name):
            raise CheckpointError(
                f"A part of the checkpoint was named {name!r}; use letters, digits, - and _."
            )
        _require_plain(part, name)
    final = directory / checkpoint_name(step)
    temporary = directory / temporary_name(step, os.getpid())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _sweep(directory)
        temporary.mkdir()
        files = {f"{name}.pt": _write_part(temporary / f"{name}.pt", parts[name]) for name in parts}
        manifest = Manifest(step, world_size, time.time(), files)
        with (temporary / MANIFEST_NAME).open("wb") as file:
            file.write(format_manifest(manifest).encode())
            _sync_file(file)
        _sync_directory(temporary)
        _put_in_place(temporary, final)
    except OSError as why:
        shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(
            f"The checkpoint of step {step} could not be written to {directory} ({why.strerror}); "
            "older ones are unharmed. Make room or choose another directory, then start again."
        ) from why
    return final


def read_part(path: Path, record: FileRecord) -> bytearray:
    """The content of one file of a checkpoint, or a ManifestError if it is damaged."""
    try:
        content = bytearray(path.read_bytes())
    except OSError as why:
        raise ManifestError(f"{path.name} cannot be read ({why.strerror})") from why
    if hashlib.sha256(content).hexdigest() != record.sha256:
        raise ManifestError(f"{path.name} is damaged: its sha256 is not that of the manifest")
    return content


def load_part(content: bytearray) -> Any:
    """What was saved, on the CPU. Tensors and plain values only: nothing in it is executed."""
    try:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as why:
        raise CheckpointError(
            f"torch {torch.__version__} cannot load a part of the checkpoint ({why}); "
            "resume with the version that wrote it."
        ) from why


def prune(directory: Path, keep: int, spared: Iterable[Path]) -> None:
    """Remove all complete checkpoints but the newest `keep` and those spared; 0 keeps all."""
    complete = complete_checkpoints(directory)
    spared = {path.resolve() for path in spared}
    for path in complete[keep:] if keep else []:
        if path.resolve() not in spared:
            doomed = directory / replaced_name(step_of(path), os.getpid())
            path.rename(doomed)
            shutil.rmtree(doomed)


def _require_plain(value: Any, place: str) -> None:
    """Refuse at once what could be saved, but not loaded again without executing it."""
    if type(value) in (dict, OrderedDict):
        for key, inner in value.items():
            _require_plain(key, place)
            _require_plain(inner, f"{place}.{key}")
    elif type(value) in (list, tuple):
        for index, inner in enumerate(value):
            _require_plain(inner, f"{place}.{index}")
    elif type(value) not in _PLAIN_TYPES:
        raise CheckpointError(
            f"{place} is of the type {type(value).__name__}, which a checkpoint cannot hold; "
            "save whole tensors and plain values."
        )


class _HashedFile:
    """Passes writes on, and knows their length, their sha256 and why one of them failed.

    torch reports a failed write as a RuntimeError of its own, without the reason.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._length = 0
        self.failure: OSError | None = None

    def write(self, content: bytes) -> int:
        try:
            self._file.write(content)
        except OSError as why:
            self.failure = why
            raise
        self._digest.update(content)
        self._length += len(content)
        return len(content)

    def flush(self) -> None:
        self._file.flush()

    def record(self) -> FileRecord:
        return FileRecord(self._length, self._digest.hexdigest())


def _write_part(path: Path, part: Any) -> FileRecord:
    with path.open("wb") as plain:
        file = _HashedFile(plain)
        try:
            torch.save(part, cast(BinaryIO, file))
        except RuntimeError as why:
            if file.failure is not None:
                raise file.failure from why
            raise
        _sync_file(plain)
    return file.record()


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(temporary: Path, final: Path) -> None:
    """Give the new checkpoint its name; an older one of the same step makes way first."""
    replaced = final.with_name(replaced_name(step_of(final), os.getpid()))
    if final.exists():
        final.rename(replaced)
    temporary.rename(final)
    _sync_directory(final.parent)
    if replaced.exists():
        shutil.rmtree(replaced)


def _sweep(directory: Path) -> None:
    """Remove what dead processes, or an earlier failure of this one, left half done."""
    for path in directory.iterdir():
        name = TEMPORARY_NAME.fullmatch(path.name)
        if name is not None and (int(name[1]) == os.getpid() or not _is_alive(int(name[1]))):
            shutil.rmtree(path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
