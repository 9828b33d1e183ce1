"""Looks for a text in a log of any length, without holding up the screen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from cockpit.core.log_text import metric, shown
from cockpit.engine.spool import Line, SpoolReader

SLICE_LINES = 4000
"""Lines between two moments in which the screen may draw."""


class Search:
    """One text, in upper or lower case, and the line in which it was found last."""

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        """Where the next look begins; the line itself is not looked at again."""
        self.found = False
        self.state = ""
        """How the last look goes or went, in words."""
        self.pattern = re.compile(f"({re.escape(text)})", re.IGNORECASE)
        self._raw = re.compile(re.escape(text.encode()), re.IGNORECASE)

    async def run(self, reader: SpoolReader, by: int) -> AsyncIterator[None]:
        """Look upwards (-1) or downwards (1); yields whenever `state` changed."""
        self.found = False
        first, count = self.line, reader.line_count
        while 0 <= first + min(by, 0) < count:
            begin = max(0, first - SLICE_LINES) if by < 0 else first + 1
            lines = reader.lines(begin, first - begin if by < 0 else SLICE_LINES)
            places = [place for place, line in enumerate(lines) if self._is_in(line)]
            if places:
                self.line = begin + places[-1 if by < 0 else 0]
                self.found, self.state = True, f"line {self.line + 1:,}"
                yield
                return
            first = begin if by < 0 else begin + SLICE_LINES - 1
            self.state = f"looking at line {first:,}"
            yield
            await asyncio.sleep(0)
        self.state = f"none {'above' if by < 0 else 'below'}"
        yield

    def _is_in(self, line: Line) -> bool:
        if self._raw.search(line.data):
            return True
        words = metric(line.data)
        if words is None and line.data.isascii():
            return False
        return bool(self.pattern.search(words or shown(line.data)))
