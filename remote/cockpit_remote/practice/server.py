"""The SSH servers of a practice cluster: one on a loopback port for each node, in one process."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import asyncssh

from cockpit_remote.practice.layout import (
    Address,
    NodePaths,
    PracticePaths,
    Shape,
    write_client_files,
    write_private,
)
from cockpit_remote.practice.remains import PRACTICE_MARK

KEY_TYPE = "ssh-ed25519"
HANGUP_GRACE_S = 5.0
"""How long a command may outlive its client before its process group is killed."""
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class PracticeNode:
    """One node as its sessions see it."""

    name: str
    paths: NodePaths
    practice: PracticePaths
    gpus: int
    """Simulated GPUs of the node."""

    def environment(self, connection: str) -> dict[str, str]:
        """What a session starts with; nothing of the operator's own environment goes through."""
        account = pwd.getpwuid(os.getuid())
        return {
            "HOME": str(self.paths.home),
            "USER": account.pw_name,
            "LOGNAME": account.pw_name,
            "SHELL": "/bin/sh",
            "PATH": f"{os.path.dirname(sys.executable)}:{_SYSTEM_PATH}",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TMPDIR": str(self.paths.temporary),
            "SSH_CONNECTION": connection,
            "COCKPIT_NODE_LOCKS": str(self.paths.locks),
            "COCKPIT_NODE_SIMULATED_GPUS": str(self.gpus),
            PRACTICE_MARK: str(self.practice.directory),
        }


async def listen(paths: PracticePaths, shape: Shape) -> list[asyncssh.SSHAcceptor]:
    """Make the nodes, listen on their ports, and write the files of a client that can log in."""
    client = asyncssh.generate_private_key(KEY_TYPE, comment="practice")
    write_private(paths.client_key, client.export_private_key())
    servers: list[asyncssh.SSHAcceptor] = []
    addresses: list[Address] = []
    for name in shape.names:
        paths.node(name).make()
        node = PracticeNode(name, paths.node(name), paths, shape.gpus)
        host_key = asyncssh.generate_private_key(KEY_TYPE, comment=name)
        server = await _listen(node, host_key, client)
        servers.append(server)
        public = host_key.export_public_key().decode().strip()
        user = node.environment("")["USER"]
        addresses.append(Address(name, server.get_port(), user, public))
    write_client_files(paths, shape, addresses)
    return servers


async def _listen(
    node: PracticeNode, host_key: asyncssh.SSHKey, client: asyncssh.SSHKey
) -> asyncssh.SSHAcceptor:
    async def session(process: asyncssh.SSHServerProcess[bytes]) -> None:
        await _session(node, process)

    return await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=asyncssh.import_authorized_keys(client.export_public_key().decode()),
        process_factory=session,
        encoding=None,
        line_editor=False,
        agent_forwarding=False,
    )


async def close(servers: Sequence[asyncssh.SSHAcceptor]) -> None:
    """Stop listening and drop every connection."""
    for server in servers:
        server.close()
    await asyncio.gather(*(server.wait_closed() for server in servers))


async def _session(node: PracticeNode, process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Run one command to its end, with the channel as its standard streams."""
    command = ["/bin/sh", "-c", process.command] if process.command else ["/bin/sh"]
    client, here = process.get_extra_info("peername"), process.get_extra_info("sockname")
    environment = node.environment(f"{client[0]} {client[1]} {here[0]} {here[1]}")
    if process.term_type is None:
        child = await _start_on_pipes(node, process, command, environment)
    else:
        environment["TERM"] = process.term_type
        child = await _start_on_terminal(node, process, command, environment)
    process.set_redirect_pid(child.pid)
    gone = asyncio.create_task(process.wait_closed())
    ended = asyncio.create_task(child.wait())
    await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        await process.stdout.drain()
        await process.stderr.drain()
        _tell_exit(process, ended.result())
        await gone
    else:
        await _end_deserted(child, ended)


async def _start_on_pipes(
    node: PracticeNode,
    process: asyncssh.SSHServerProcess[bytes],
    command: Sequence[str],
    environment: dict[str, str],
) -> asyncio.subprocess.Process:
    inputs, outputs, errors = os.pipe(), os.pipe(), os.pipe()
    theirs = (inputs[0], outputs[1], errors[1])
    child = await _start(node, command, environment, theirs)
    await process.redirect(inputs[1], outputs[0], errors[0], send_eof=False)
    return child


async def _start_on_terminal(
    node: PracticeNode,
    process: asyncssh.SSHServerProcess[bytes],
    command: Sequence[str],
    environment: dict[str, str],
) -> asyncio.subprocess.Process:
    ours, theirs = os.openpty()
    # A session leader's controlling terminal is the first one that it opens itself.
    own_terminal = ["/bin/sh", "-c", f'exec "$@" 0<>{os.ttyname(theirs)} 1>&0 2>&0', "sh", *command]
    child = await _start(node, own_terminal, environment, (theirs, os.dup(theirs), os.dup(theirs)))
    await process.redirect(os.dup(ours), ours, send_eof=False)
    return child


async def _start(
    node: PracticeNode,
    command: Sequence[str],
    environment: dict[str, str],
    streams: tuple[int, int, int],
) -> asyncio.subprocess.Process:
    """Start a command in a session of its own; its ends of the streams are closed here."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            cwd=node.paths.home,
            env=environment,
            umask=0o022,
            start_new_session=True,
        )
    finally:
        for stream in streams:
            os.close(stream)


def _tell_exit(process: asyncssh.SSHServerProcess[bytes], status: int) -> None:
    if process.is_closing():
        return
    if status < 0:
        process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
    else:
        process.exit(status)


async def _end_deserted(child: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    """The client went away and the pipes are closed: most commands end by that alone."""
    await asyncio.wait({ended}, timeout=HANGUP_GRACE_S)
    if not ended.done():
        os.killpg(child.pid, signal.SIGKILL)
        await ended
