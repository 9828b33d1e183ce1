"""The one channel of a link: bytes in and out, and what else the node said, for diagnosis."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import asyncssh

from cockpit_remote.waiting import first_of, unless

COMMAND = "exec /bin/sh -s"
"""Works whatever the login shell is; everything else goes in by stdin."""
KEPT_ERRORS = 8 * 1024
"""Bytes of stderr kept, the newest."""


class Channel(asyncssh.SSHClientSession[bytes]):
    """Collects bytes until `deliver`, then hands each piece on as it comes."""

    def __init__(self) -> None:
        self.closed: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        """Done when the channel or its connection has ended, with the reason if there is one."""
        self._chan: asyncssh.SSHClientChannel[bytes] | None = None
        self.noise = b""
        """What came before the last match: the user's shell, speaking."""
        self.unread = b""
        """What nobody has taken yet."""
        self._arrived = asyncio.Event()
        self._room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done while more may be written."""
        self._room.set_result(None)
        self._sink: Callable[[bytes], None] | None = None
        self._errors = bytearray()

    @classmethod
    async def open(cls, connection: asyncssh.SSHClientConnection) -> Channel:
        """Start the shell. Raises asyncssh.Error."""
        chan, session = await connection.create_session(
            cls, COMMAND, encoding=None, request_pty=False
        )
        assert isinstance(session, Channel)
        session._chan = chan
        return session

    @property
    def errors(self) -> str:
        """The end of what came by stderr."""
        return self._errors.decode("utf-8", "replace")

    def write(self, data: bytes) -> None:
        """Queue bytes; they are lost where the channel has ended, which `closed` tells."""
        if self._chan is not None and not self._chan.is_closing():
            self._chan.write(data)

    async def drained(self) -> None:
        """Until what was written has left, or the channel has ended."""
        await first_of(self._room, self.closed)

    async def until(self, pattern: re.Pattern[bytes], limit: int) -> re.Match[bytes] | None:
        """Take all bytes up to the first match; None if the channel ends or fills `limit` first."""
        while (found := pattern.search(self.unread)) is None:
            if self.closed.done() or len(self.unread) > limit:
                return None
            self._arrived.clear()
            await unless(self.closed, self._arrived.wait())
        self.noise = self.unread[: found.start()]
        self.unread = self.unread[found.end() :]
        return found

    def deliver(self, sink: Callable[[bytes], None]) -> None:
        """From now on hand bytes to `sink`, first those not yet taken."""
        rest, self.unread = self.unread, b""
        self._sink = sink
        if rest:
            sink(rest)

    def abort(self) -> None:
        if self._chan is not None:
            self._chan.abort()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype is not None:
            self._errors += data
            del self._errors[:-KEPT_ERRORS]
        elif self._sink is not None:
            self._sink(data)
        else:
            self.unread += data
            self._arrived.set()

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if not self._room.done():
            self._room.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(exc)
