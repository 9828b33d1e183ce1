"""JSON files of a run directory: written whole or not at all, read as if anyone had written them."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Dict

from cockpit_node.plain import make_way, open_to_write, read_plain

Record = Dict[str, Any]

READ_LIMIT = 1024 * 1024
"""Bytes; a longer file is none of ours."""
RESERVED = 4096
"""Bytes of a record that must be writable when the disk is full."""


class Unreadable(Exception):
    """A file that is there but is no record; names the file."""


def read(path: str) -> Record | None:
    """The record in `path`; None where there is none yet. Raises Unreadable."""
    try:
        data = read_plain(path, READ_LIMIT + 1, follow=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Unreadable(f"{path} cannot be read: {why}") from error
    if len(data) > READ_LIMIT:
        raise Unreadable(f"{path} is longer than {READ_LIMIT} bytes")
    if data and not data.strip(b" "):
        return None
    return _parse(path, data)


def read_if_whole(path: str) -> Record | None:
    """As `read`, for whoever waits: what cannot be read is not there yet."""
    try:
        return read(path)
    except Unreadable:
        return None


def has_end(exit_path: str) -> bool:
    """Whether an exit record says that nothing of its run is left."""
    return whole(read_if_whole(exit_path), "leftovers") == 0


def _parse(path: str, data: bytes) -> Record:
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"{path} is not a JSON object")
    return value


def replace(path: str, value: Record, lasting: bool = False) -> None:
    """Write `value` so that a reader sees the old record or the new one.

    Padded, so that `fill` can write over it when the disk is full. A `lasting` record is there
    after a power cut, whole.
    """
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(_encode(value).ljust(RESERVED))
            if lasting:
                file.flush()
                os.fsync(descriptor)
        make_way(path)
        os.rename(partial, path)
        if lasting:
            sync_directory(os.path.dirname(path))
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def sync_directory(path: str) -> None:
    """Make the names in it outlive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reserve(path: str) -> None:
    """Take the disk space of one record now; `fill` needs none later."""
    descriptor = open_to_write(path)
    with open(descriptor, "wb", buffering=RESERVED) as file:
        file.write(b" " * RESERVED)
        file.flush()
        os.fsync(descriptor)


def fits(value: Record) -> bool:
    """Whether `fill` can write it."""
    return len(_encode(value)) <= RESERVED


def fill(path: str, value: Record) -> None:
    """Write `value`, which must fit, in place over a reserved record, in one call."""
    descriptor = open_to_write(path)
    try:
        os.pwrite(descriptor, _encode(value).ljust(RESERVED), 0)
        os.ftruncate(descriptor, RESERVED)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def text(record: Record | None, key: str, limit: int = 4096) -> str:
    """A string field, "" where it is none."""
    value = (record or {}).get(key)
    return value[:limit] if isinstance(value, str) else ""


def whole(record: Record | None, key: str) -> int | None:
    """An integer field of a size that fits anywhere, None where it is none."""
    value = (record or {}).get(key)
    return value if type(value) is int and abs(value) < 2**63 else None


def number(record: Record | None, key: str) -> float | None:
    """A finite number, None where it is none."""
    value = (record or {}).get(key)
    if type(value) is int:
        return float(value) if abs(value) < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def nested(record: Record | None, key: str) -> Record | None:
    """An object field, None where it is none."""
    value = (record or {}).get(key)
    return value if isinstance(value, dict) else None


def rows(record: Record | None, key: str) -> list[Record]:
    """The objects of a list field."""
    value = (record or {}).get(key)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _encode(value: Record) -> bytes:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return compact.encode("utf-8", "backslashreplace")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")
