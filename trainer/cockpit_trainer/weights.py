"""Compares runs bit for bit: `python -m cockpit_trainer.weights DIR` prints a sha256 a file.

The digest is over names, types, shapes and bits of all values in it, not over the file, so that it
is the same for the same state whatever version of torch wrote it.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cockpit_trainer.emit import complain, say
from cockpit_trainer.manifest import ManifestError, read_manifest

if TYPE_CHECKING:
    from hashlib import _Hash

    from torch import Tensor


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line a file and one for all of them, as sha256sum does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkpoint", type=Path, help="a directory step-<number>")
    checkpoint = parser.parse_args(arguments).checkpoint
    try:
        digests = digest_checkpoint(checkpoint)
    except ManifestError as why:
        complain(f"{checkpoint} is no complete checkpoint: {why}; name another one.")
        return 1
    for name, digest in digests.items():
        say(f"{digest}  {name}")
    say(f"{hashlib.sha256(''.join(digests.values()).encode()).hexdigest()}  all")
    return 0


def digest_checkpoint(checkpoint: Path) -> dict[str, str]:
    """The sha256 of the state in each file of a complete, undamaged checkpoint."""
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    from cockpit_trainer.checkpoint import load_part, read_part

    manifest = read_manifest(checkpoint)
    return {
        name: digest_state(load_part(read_part(checkpoint / name, record)))
        for name, record in sorted(manifest.files.items())
    }


def digest_state(state: Any) -> str:
    """The sha256 of nested dicts and lists of tensors and plain values, in their order."""
    digest = hashlib.sha256()
    _add(digest, state)
    return digest.hexdigest()


def _add(digest: _Hash, value: Any) -> None:
    if isinstance(value, dict):
        digest.update(f"dict {len(value)}\n".encode())
        for key, inner in value.items():
            _add(digest, key)
            _add(digest, inner)
    elif isinstance(value, (list, tuple)):
        digest.update(f"list {len(value)}\n".encode())
        for inner in value:
            _add(digest, inner)
    elif hasattr(value, "data_ptr"):
        digest.update(f"tensor {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(_bits(value))
    else:
        digest.update(f"{type(value).__name__} {value!r}\n".encode())


def _bits(tensor: Tensor) -> bytes:
    whole = tensor.detach().contiguous()
    return ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size())


if __name__ == "__main__":
    sys.exit(main())
