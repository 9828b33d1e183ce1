"""Values that are never shown: chosen by the name of their variable."""

from __future__ import annotations

import re

_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(?:API|ACCESS|PRIVATE)_?KEY", re.IGNORECASE)


def redacted(name: str, value: str) -> str:
    """`value`, or stars where the variable's name says that it is a secret."""
    return "***" if _SECRET.search(name) else value
