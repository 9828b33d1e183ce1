"""Run ids: ULIDs (github.com/ulid/spec), 48 bits of milliseconds and 80 of chance, in Crockford's base 32."""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_run() -> str:
    """26 characters, unique over laptops and users, in the order of their making."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))
