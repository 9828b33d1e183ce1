"""How a node says no: a code for the engine, a sentence for a person, and whether waiting helps."""

from __future__ import annotations

from typing import Any

_LIMIT = 1000
"""Characters; a refusal is written where a full disk leaves little room."""


class Refused(Exception):
    """An order that this node did not carry out; nothing of it is left behind."""

    def __init__(self, code: str, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.code = code
        """One of the refusals in docs/protocol.md."""
        self.message = message
        """What happened, then what to do."""
        self.retry = retry
        """Whether the same order may succeed later, with nothing changed by a person."""

    def record(self) -> dict[str, Any]:
        """As it stands in a reply and in sup.json."""
        return {"code": self.code, "message": self.message[:_LIMIT], "retry": self.retry}
