"""Steps that a run can do without: where one fails, the log says so and the rest goes on."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Iterator


@contextlib.contextmanager
def unessential(what: str) -> Iterator[None]:
    """Nothing that fails inside may keep a run from being watched and ended."""
    try:
        yield
    # File systems and what people put there fail in ways nobody lists.
    except Exception as error:  # noqa: BLE001
        say(f"{what}: {type(error).__name__}: {error}")


@functools.lru_cache(maxsize=256)
def say(sentence: str) -> None:
    """Write to the log of this process, once; a full disk takes the words away, nothing else."""
    with contextlib.suppress(OSError):
        os.write(2, f"{sentence}\n".encode("utf-8", "backslashreplace"))
