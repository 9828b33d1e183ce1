"""The text to learn from: the sources of the running Python's standard library, as bytes.

Every machine that can train has them, so nothing is downloaded and no path has to be shared. The
batch of a step depends on the seed, the step, the rank and the number of ranks and on nothing
else, so a run that resumes needs no more than the number of its step.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

CORPUS_LIMIT = 8 * 1024 * 1024
"""Bytes read at most."""
VALIDATION_SHARE = 0.05
_SKIPPED = frozenset({"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"})


class DataError(Exception):
    """Why there is nothing to learn from, as one sentence."""


class Corpus:
    """The bytes to train on and those to validate on."""

    def __init__(self, content: bytes) -> None:
        self.fingerprint = hashlib.sha256(content).hexdigest()[:16]
        """Tells two machines with other sources apart."""
        whole = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        border = int(len(content) * (1 - VALIDATION_SHARE))
        self._parts = {"train": whole[:border], "validation": whole[border:]}

    def batch(self, part: str, key: str, batch_size: int, block_size: int) -> tuple[Tensor, Tensor]:
        """Inputs and the bytes that follow them, both (batch, block) of int64, chosen by `key`."""
        content = self._parts[part]
        digest = hashlib.sha256(key.encode()).digest()
        chance = torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
        starts = torch.randint(len(content) - block_size, (batch_size, 1), generator=chance)
        windows = content[starts + torch.arange(block_size + 1)].long()
        return windows[:, :-1], windows[:, 1:]


def read_standard_library() -> Corpus:
    """Read the sources in the order of their names, so that it is the same text every time."""
    root = sysconfig.get_paths()["stdlib"]
    content = bytearray()
    for path in _sources(root):
        content += path.read_bytes()
        if len(content) >= CORPUS_LIMIT:
            break
    if len(content) < CORPUS_LIMIT // 64:
        raise DataError(
            f"There are only {len(content)} bytes of Python sources under {root} to learn from; "
            "use a Python that comes with the sources of its standard library."
        )
    return Corpus(bytes(content[:CORPUS_LIMIT]))


def _sources(root: str) -> Iterator[Path]:
    for directory, below, names in os.walk(root):
        below[:] = sorted(set(below) - _SKIPPED)  # So that os.walk does not enter them.
        yield from (Path(directory, name) for name in sorted(names) if name.endswith(".py"))
