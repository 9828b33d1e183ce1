"""Checks of single values out of JSON that a stranger may have written."""

from __future__ import annotations

import math
from typing import Any

_STEP_LIMIT = 2**63
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""All that reading a body of the wrong shape raises, the checks below included."""


def whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("not a whole number")
    return value


def count(value: Any) -> int:
    """A whole number from 0 that fits a database column."""
    if not 0 <= whole(value) < _STEP_LIMIT:
        raise ValueError("out of range")
    return int(value)


def number(value: Any) -> float:
    """A float; the words "nan", "inf" and "-inf" count as one, true and false do not."""
    if isinstance(value, str):
        return _NOT_FINITE[value]
    if type(value) not in (int, float):
        raise TypeError("not a number")
    return float(value)


def finite(value: Any) -> float:
    found = number(value)
    if not math.isfinite(found):
        raise ValueError("not a finite number")
    return found


def text(value: Any) -> str:
    """Text that any file and database can hold: a lone surrogate is refused."""
    if type(value) is not str:
        raise TypeError("not text")
    value.encode("utf-8")
    return value
