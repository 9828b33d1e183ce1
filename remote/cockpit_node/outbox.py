"""The one writer of a link: control before readings, readings before log chunks."""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable

from cockpit_node.wire import Chunk, Frame, Message, encode, encode_chunk

PENDING_CHUNKS = 4
"""Chunks that may wait here; a follower with more waits itself, so memory stays bounded."""


class Outbox:
    """What waits to be sent, by rank; `run` sends it from one thread."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._changed = threading.Condition()
        self._control: deque[bytes] = deque()
        self._reading: Message | None = None
        self._log: deque[Frame] = deque()

    def send(self, message: Message) -> None:
        """Queue a control message; goes before everything else. Raises WireError if too long."""
        frame = encode(message)
        with self._changed:
            self._control.append(frame)
            self._changed.notify_all()

    def send_reading(self, message: Message) -> None:
        """Queue a reading in place of one not yet sent: an old figure is worth nothing."""
        with self._changed:
            self._reading = message
            self._changed.notify_all()

    def send_log(self, frame: Frame) -> None:
        """Queue a chunk or a message that must stay behind the chunks; waits for room."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._log) < PENDING_CHUNKS)
            self._log.append(frame)
            self._changed.notify_all()

    def run(self) -> None:
        """Send for ever; ends by the OSError of a link that is gone."""
        while True:
            self._write(self._next())

    def _next(self) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._control or self._reading or self._log)
            if self._control:
                return self._control.popleft()
            if self._reading is not None:
                reading, self._reading = self._reading, None
                return encode(reading)
            frame = self._log.popleft()
            self._changed.notify_all()
        return encode_chunk(frame) if isinstance(frame, Chunk) else encode(frame)
