"""Sends what is appended to files, from any offset, round robin and only against credit."""

from __future__ import annotations

import errno
import os
import threading
import time
from typing import Callable

from cockpit_node.plain import NotPlain, open_plain
from cockpit_node.wire import MAX_CHUNK, Chunk, Frame

POLL_S = 0.1
"""Between two looks at files that had nothing new."""
SEARCH_POLLS = 5
"""Idle looks between two searches for a file that nobody has named yet."""
IDENTITY_POLLS = 10
"""Idle looks between two checks that a path still names the file that is open."""
FAILING_S = 5.0
"""How long reading may fail before the rest of an ended run's file is given up."""


class Stream:
    """One followed file and how far it was sent."""

    def __init__(
        self,
        number: int,
        find: Callable[[], str | None],
        ended: Callable[[], bool],
        offset: int,
        credit: int,
    ) -> None:
        self.number = number
        self.find = find
        """Where the file is; None while nobody knows."""
        self.ended = ended
        """Whether the run is over, so that the file grows no more."""
        self.offset = offset
        self.credit = credit
        """Bytes that may still be sent."""
        self.idle = 0
        """Looks in a row that found nothing."""
        self.trouble: str | None = None
        """What was said to be wrong with the file, until it can be read again."""
        self._failing_since: float | None = None
        """Monotonic seconds; None while it can be read."""
        self._path: str | None = None
        self._descriptor: int | None = None

    def read(self) -> bytes:
        """The next bytes that credit allows, or none."""
        if self._descriptor is None and not self._open():
            return b""
        assert self._descriptor is not None
        data = os.pread(self._descriptor, max(0, min(MAX_CHUNK, self.credit)), self.offset)
        self.trouble = self._failing_since = None
        return data

    def failed(self) -> bool:
        """Note that it could not be read; whether that has lasted too long to pass."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        return now - self._failing_since >= FAILING_S

    @property
    def drained(self) -> bool:
        """Whether everything that is in the file now was sent."""
        return self._descriptor is None or os.fstat(self._descriptor).st_size <= self.offset

    def replaced(self, over: bool) -> str | None:
        """Why the file is not the one that was sent so far, in words; at the end look closely."""
        if self._descriptor is None or self._path is None:
            return None
        opened = os.fstat(self._descriptor)
        if opened.st_size < self.offset:
            return f"{self._path} shrank from {self.offset} to {opened.st_size} bytes"
        # What is left of the file that is open still comes, once there is credit for it.
        if not self.drained or (self.idle % IDENTITY_POLLS and not over):
            return None
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return None
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            return f"{self._path} was replaced by another file"
        return None

    def restart(self) -> None:
        self.close()
        self.offset = 0

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> bool:
        if self.idle % SEARCH_POLLS == 0:
            self._path = self.find()
        if self._path is None:
            return False
        try:
            self._descriptor = open_plain(self._path)
        except FileNotFoundError:
            return False
        return True


class Follower:
    """Every followed file of one link; `run` is one thread."""

    def __init__(self, send: Callable[[Frame], None]) -> None:
        self._send = send
        """Waits while the link is busy, which is what slows this thread down."""
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._streams: dict[int, Stream] = {}
        self._dropped: list[Stream] = []

    def add(self, stream: Stream) -> None:
        """Begin; a stream of the same number is replaced."""
        with self._lock:
            self._forget(stream.number)
            self._streams[stream.number] = stream
        self._wake.set()

    def remove(self, number: int) -> None:
        with self._lock:
            self._forget(number)

    def grant(self, number: int, count: int) -> None:
        """Allow `count` more bytes; nothing happens for a stream that has ended."""
        with self._lock:
            stream = self._streams.get(number)
            if stream is not None:
                stream.credit += count
        self._wake.set()

    def run(self) -> None:
        while True:
            self._wake.clear()
            with self._lock:
                streams = list(self._streams.values())
                dropped, self._dropped = self._dropped, []
            for stream in dropped:
                stream.close()
            moved = [self._advance(stream) for stream in streams]
            if not any(moved):
                self._wake.wait(POLL_S)

    def _advance(self, stream: Stream) -> bool:
        """Send at most one chunk of a stream; whether anything was sent."""
        # Asked before reading: bytes written just before the end are then surely seen.
        over = stream.ended()
        try:
            return self._step(stream, over)
        except OSError as error:
            return self._stumble(stream, error, over)

    def _stumble(self, stream: Stream, error: OSError, over: bool) -> bool:
        """Try again, unless the file is none any more or the run is over; whether it was said."""
        stream.idle += 1
        lasts = stream.failed()
        # A rank put a pipe or a directory there, or a server has forgotten the file.
        gone = isinstance(error, NotPlain) or error.errno == errno.ESTALE
        message = f"the log cannot be read: {error.strerror or error}"
        # To begin anew costs every byte that was sent, so a trouble that may pass is not told.
        tells = gone or stream.offset == 0 or (over and lasts)
        if tells and stream.trouble != message:
            stream.trouble = message
            self._restart(stream, message)
            return True
        if over and (gone or lasts):
            self._finish(stream)
            return True
        return False

    def _step(self, stream: Stream, over: bool) -> bool:
        data = stream.read()
        if data:
            stream.idle = 0
            chunk = Chunk(stream.number, stream.offset, data)
            stream.offset += len(data)
            with self._lock:
                stream.credit -= len(data)
            self._send(chunk)
            return True
        stream.idle += 1
        message = stream.replaced(over)
        if message is not None:
            self._restart(stream, message)
            return True
        if over and stream.drained:
            self._finish(stream)
            return True
        return False

    def _restart(self, stream: Stream, message: str) -> None:
        """Begin anew at 0, and say so: the other end counts the bytes too."""
        stream.restart()
        self._send({"type": "replaced", "stream": stream.number, "message": message})

    def _finish(self, stream: Stream) -> None:
        with self._lock:
            if self._streams.get(stream.number) is stream:
                self._forget(stream.number)
        self._send({"type": "end", "stream": stream.number, "offset": stream.offset})

    def _forget(self, number: int) -> None:
        stream = self._streams.pop(number, None)
        if stream is not None:
            # Closed by the thread that reads it, never under its hands.
            self._dropped.append(stream)
