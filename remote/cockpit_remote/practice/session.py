"""One command on a practice node, with an SSH channel as its standard streams."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

CHUNK = 64 * 1024
"""Bytes carried at once."""
HANGUP_GRACE_S = 5.0
"""How long a command may outlive its client before its process group is killed."""

Channel = asyncssh.SSHServerProcess[bytes]


@dataclass(frozen=True, slots=True)
class Ends:
    """Descriptors of pipes or of a terminal: the server's side, and the command's."""

    to_command: int
    from_command: tuple[int, ...]
    """Its output, and its errors where they are apart."""
    of_command: tuple[int, int, int]
    """Standard input, output and error."""

    @classmethod
    def pipes(cls) -> Ends:
        inputs, outputs, errors = os.pipe(), os.pipe(), os.pipe()
        theirs = (inputs[0], outputs[1], errors[1])
        return cls(inputs[1], (outputs[0], errors[0]), theirs)

    @classmethod
    def terminal(cls, size: tuple[int, int, int, int]) -> Ends:
        ours, theirs = os.openpty()
        _resize(ours, size)
        return cls(os.dup(ours), (ours,), (theirs, os.dup(theirs), os.dup(theirs)))


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The server's side of a command's streams, as asyncio has it."""

    to_command: asyncio.StreamWriter
    from_command: tuple[asyncio.StreamReader, ...]
    transports: tuple[asyncio.BaseTransport, ...]

    @classmethod
    async def lay(cls, ends: Ends) -> Plumbing:
        into, writer = await _writer(ends.to_command)
        out = [await _reader(descriptor) for descriptor in ends.from_command]
        transports = (into, *(transport for transport, _ in out))
        return cls(writer, tuple(reader for _, reader in out), transports)

    def close(self) -> None:
        for transport in self.transports:
            transport.close()


async def _reader(descriptor: int) -> tuple[asyncio.BaseTransport, asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader := asyncio.StreamReader(limit=CHUNK))
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb"))
    return transport, reader


async def _writer(descriptor: int) -> tuple[asyncio.BaseTransport, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(descriptor, "wb"))
    return transport, asyncio.StreamWriter(transport, protocol, None, loop)


async def run(channel: Channel, home: Path, environment: Mapping[str, str]) -> None:
    """Run the command that the client asked for, or a shell, until it ends or the client goes."""
    command = ["/bin/sh", "-c", channel.command] if channel.command else ["/bin/sh"]
    if channel.term_type is None:
        ends = Ends.pipes()
    else:
        ends = Ends.terminal(channel.term_size)
        environment = {**environment, "TERM": channel.term_type}
        # A session's terminal is the first one that its leader opens itself.
        name = os.ttyname(ends.of_command[0])
        command = ["/bin/sh", "-c", f'exec "$@" 0<>{name} 1>&0 2>&0', "sh", *command]
    plumbing = await Plumbing.lay(ends)
    try:
        child = await _start(command, home, environment, ends)
        await _attend(channel, plumbing, child)
    finally:
        plumbing.close()


async def _start(
    command: Sequence[str], home: Path, environment: Mapping[str, str], ends: Ends
) -> asyncio.subprocess.Process:
    """Start a command in a session of its own; its ends of the streams are closed here."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=ends.of_command[0],
            stdout=ends.of_command[1],
            stderr=ends.of_command[2],
            cwd=home,
            env=environment,
            umask=0o022,
            start_new_session=True,
        )
    finally:
        for descriptor in ends.of_command:
            os.close(descriptor)


async def _attend(channel: Channel, plumbing: Plumbing, child: asyncio.subprocess.Process) -> None:
    """Carry its streams, then tell how it ended. Like sshd, waits until its output is closed."""
    gone = asyncio.create_task(channel.wait_closed())
    ended = asyncio.create_task(child.wait())
    feeding = asyncio.create_task(_feed(channel, plumbing, child))
    carrying = asyncio.create_task(_carry_all(channel, plumbing))
    try:
        await asyncio.wait([gone, ended], return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            await asyncio.wait([gone, carrying], return_when=asyncio.FIRST_COMPLETED)
    finally:
        feeding.cancel()
        carrying.cancel()
        plumbing.close()
    if not gone.done():
        _tell_exit(channel, ended.result())
    elif not ended.done():
        await _end_deserted(child, ended)
    await gone


async def _feed(channel: Channel, plumbing: Plumbing, child: asyncio.subprocess.Process) -> None:
    """Client to command, with the signals and the terminal's sizes that come between."""
    while True:
        try:
            data = await channel.stdin.read(CHUNK)
            if not data:
                break
            plumbing.to_command.write(data)
            await plumbing.to_command.drain()
        except asyncssh.TerminalSizeChanged as size:
            terminal = plumbing.to_command.get_extra_info("pipe")
            _resize(terminal.fileno(), size.term_size)
        except asyncssh.SignalReceived as told:
            _signal_group(child, told.signal)
        except asyncssh.BreakReceived:
            _signal_group(child, "INT")
        except (ConnectionError, asyncssh.Error):
            break  # The command reads no more, or the client is gone.
    if channel.term_type is None:
        plumbing.to_command.close()


async def _carry_all(channel: Channel, plumbing: Plumbing) -> None:
    """Command to client, until every process of the command has closed its output."""
    output, *errors = plumbing.from_command
    await asyncio.gather(
        _carry(output, channel.stdout), *(_carry(reader, channel.stderr) for reader in errors)
    )


async def _carry(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    try:
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
    except (ConnectionError, asyncssh.Error):
        return  # The client is gone.
    except OSError as error:
        if error.errno != errno.EIO:  # How a terminal says that nobody holds it any more.
            raise


def _resize(terminal: int, size: tuple[int, int, int, int]) -> None:
    """Set a terminal's size: columns, rows, and both in pixels."""
    columns, rows, width, height = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))


def _signal_group(child: asyncio.subprocess.Process, name: str) -> None:
    number = getattr(signal, f"SIG{name}", None)
    if isinstance(number, signal.Signals) and child.returncode is None:
        os.killpg(child.pid, number)


def _tell_exit(channel: Channel, status: int) -> None:
    if status < 0:
        channel.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
    else:
        channel.exit(status)


async def _end_deserted(child: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    """Most commands end by their closed pipes alone."""
    await asyncio.wait({ended}, timeout=HANGUP_GRACE_S)
    if not ended.done():
        os.killpg(child.pid, signal.SIGKILL)
        await ended
