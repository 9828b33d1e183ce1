"""Fields of a message from the operator, taken with their types checked."""

from __future__ import annotations

from typing import Any, Mapping

Body = Mapping[str, Any]


class BadOrder(Exception):
    """The operator sent something that this protocol does not have."""


def text(body: Body, key: str) -> str:
    """Raises BadOrder where it is missing or no text; so do all here."""
    value = body.get(key)
    if not isinstance(value, str):
        raise BadOrder(f"`{key}` must be text")
    return value


def number(body: Body, key: str) -> int:
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise BadOrder(f"`{key}` must be a whole number, 0 or more")
    return value


def seconds(body: Body, key: str) -> float:
    value = body.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise BadOrder(f"`{key}` must be a number of seconds, 0 or more")
    return float(value)


def table(body: Body, key: str) -> Body:
    value = body.get(key)
    if not isinstance(value, dict):
        raise BadOrder(f"`{key}` must be an object")
    return value


def pairs(body: Body, key: str) -> set[tuple[str, int]]:
    """A list of `[run id, attempt]`."""
    value = body.get(key)
    if not isinstance(value, list):
        raise BadOrder(f"`{key}` must be a list")
    return {_pair(key, row) for row in value}


def _pair(key: str, row: object) -> tuple[str, int]:
    if not isinstance(row, list) or len(row) != 2:
        raise BadOrder(f"`{key}` must be a list of pairs")
    return text({key: row[0]}, key), number({key: row[1]}, key)


def maybe_text(body: Body, key: str) -> str | None:
    return None if body.get(key) is None else text(body, key)


def maybe_number(body: Body, key: str) -> int | None:
    return None if body.get(key) is None else number(body, key)
