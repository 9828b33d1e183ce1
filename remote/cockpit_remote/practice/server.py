"""The SSH servers of a practice cluster: one on a loopback port for each node, in one process."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import asyncssh

from cockpit_remote.practice import session
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
    async def attend(channel: session.Channel) -> None:
        client, here = channel.get_extra_info("peername"), channel.get_extra_info("sockname")
        connection = f"{client[0]} {client[1]} {here[0]} {here[1]}"
        await session.run(channel, node.paths.home, node.environment(connection))

    return await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=asyncssh.import_authorized_keys(client.export_public_key().decode()),
        process_factory=attend,
        encoding=None,
        line_editor=False,
        agent_forwarding=False,
    )


def close(servers: Sequence[asyncssh.SSHAcceptor]) -> None:
    """Stop listening. Open connections end with the process, after their commands."""
    for server in servers:
        server.close()
