"""The states of the random generators, as tensors of a fixed shape: one row a rank."""

from __future__ import annotations

import random
import struct

import torch


def capture() -> dict[str, torch.Tensor]:
    """The generators of Python, of torch and, where there is one, of this rank's GPU."""
    state = {"python": _capture_python(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore(state: dict[str, torch.Tensor]) -> None:
    _restore_python(state["python"])
    # A clone: torch was seen to crash on a row of a larger tensor, whose storage it reads from 0.
    torch.set_rng_state(state["torch"].clone())
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"].clone())


def _capture_python() -> torch.Tensor:
    """(628,) int64: version, 625 words, whether a Gaussian waits, and its bits."""
    version, words, gaussian = random.getstate()
    (bits,) = struct.unpack("<q", struct.pack("<d", gaussian or 0.0))
    return torch.tensor([version, *words, int(gaussian is not None), bits], dtype=torch.int64)


def _restore_python(row: torch.Tensor) -> None:
    version, *words, waits, bits = row.tolist()
    (gaussian,) = struct.unpack("<d", struct.pack("<q", bits))
    random.setstate((version, tuple(words), gaussian if waits else None))
