"""The operator's end of followed files: offsets that fit, bytes only against credit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from cockpit.engine.ports import Appended, Ended, FollowEvent, LinkEnded, Replaced
from cockpit_node.wire import Chunk
from cockpit_remote.messages import BadMessage

Sink = Callable[[FollowEvent], None]


class Stream:
    """One followed file; an engine.ports.FollowHandle."""

    def __init__(
        self,
        number: int,
        offset: int,
        credit: int,
        sink: Sink,
        send_credit: Callable[[int, int], None],
        drop: Callable[[int], Awaitable[None]],
    ) -> None:
        self.number = number
        self._offset = offset
        """Of the next byte."""
        self._credit = credit
        """Bytes the node may still send."""
        self._sink = sink
        self._send_credit = send_credit
        self._drop = drop

    def grant(self, count: int) -> None:
        """Let the node send `count` more bytes."""
        self._credit += count
        self._send_credit(self.number, count)

    async def close(self) -> None:
        """Stop following; nothing reaches the sink any more."""
        await self._drop(self.number)

    def append(self, chunk: Chunk) -> None:
        """Raises BadMessage for bytes that are not the next or were not asked for."""
        if chunk.offset != self._offset:
            raise BadMessage(f"bytes at {chunk.offset} came where {self._offset} is next")
        if len(chunk.data) > self._credit:
            raise BadMessage("more bytes of a log came than were asked for")
        self._offset += len(chunk.data)
        self._credit -= len(chunk.data)
        self._sink(Appended(chunk.offset, chunk.data))

    def replace(self, message: str) -> None:
        """The file begins anew."""
        self._offset = 0
        self._sink(Replaced(message))

    def end(self, offset: int) -> None:
        """Raises BadMessage where bytes are missing."""
        if offset != self._offset:
            raise BadMessage(f"a log ended at {offset}, but {self._offset} bytes came")
        self._sink(Ended(offset))

    def lose(self, reason: str) -> None:
        """The link is no more."""
        self._sink(LinkEnded(reason))
