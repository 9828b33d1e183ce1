"""Makes foreign text safe to show: what a terminal would obey becomes something a person can read.

Everything that was not written in this program goes through `visible` at the place where it becomes
a widget, a printed line or a message; after it, the text may be drawn, but never parsed as markup.
"""

from __future__ import annotations

import re

LIMIT = 4096
"""Characters of one text that are shown."""

_OBEYED = re.compile(
    "["
    "\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 except TAB, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u00ad\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # without width
    "\ud800-\udfff"
    "]"
)
_BYTE = range(0xDC80, 0xDD00)
"""Where the decoder puts bytes that are not UTF-8."""


def visible(text: str, limit: int = LIMIT) -> str:
    """The text on one line, without anything that a terminal obeys; newlines become `␊`.

    Beyond `limit` characters it says how many more there were.
    """
    shown = text[:limit]
    if not (shown.isascii() and shown.isprintable()):
        shown = _OBEYED.sub(_spell, shown)
    hidden = len(text) - limit
    return f"{shown}… +{hidden} characters" if hidden > 0 else shown


def decoded(data: bytes) -> str:
    """Bytes as text for `visible`, which spells what is not UTF-8 as `\\xNN`."""
    return data.decode("utf-8", "surrogateescape")


def _spell(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code in _BYTE:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
