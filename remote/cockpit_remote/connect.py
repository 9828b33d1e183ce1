"""One SSH connection to a node, by the user's own ssh configuration and its jump hosts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from cockpit.config import NodeConfig
from cockpit_remote import hostkeys
from cockpit_remote.failures import LinkFailed, explain

KEEPALIVE_S = 4
KEEPALIVE_COUNT = 2
"""A silent cut is noticed after interval x (count + 1) = 12 s."""


@dataclass(frozen=True, slots=True)
class Target:
    """A host as the user names it."""

    node: str
    """Its name in the inventory, for messages."""
    address: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, node: NodeConfig) -> Target:
        return cls(node.name, node.address, node.user, node.port)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection, and that of the jump host which carries it."""

    ssh: asyncssh.SSHClientConnection
    tunnel: Connection | None
    place: str
    """Where it leads, for people."""

    def abort(self) -> None:
        self.ssh.abort()
        if self.tunnel is not None:
            self.tunnel.abort()

    async def wait_closed(self) -> None:
        await self.ssh.wait_closed()
        if self.tunnel is not None:
            await self.tunnel.wait_closed()


async def connect(target: Target, ssh_config: Path | None, timeout_s: float) -> Connection:
    """Connect, through each ProxyJump in turn. Raises LinkFailed."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _connect(target, ssh_config, None, ())
    except TimeoutError as error:
        raise explain(target.node, target.address, error) from error


async def resolve(target: Target, ssh_config: Path | None) -> asyncssh.SSHClientConnectionOptions:
    """What the ssh configuration says of a host. Raises asyncssh.ConfigParseError."""
    options = await asyncssh.SSHClientConnectionOptions.construct(**_named(target, ssh_config))
    assert isinstance(options, asyncssh.SSHClientConnectionOptions)
    return options


async def _connect(
    target: Target, ssh_config: Path | None, tunnel: Connection | None, seen: tuple[str, ...]
) -> Connection:
    """As `connect`; owns `tunnel`, which it ends where it fails."""
    place = target.address
    keys: hostkeys.HostKeys | None = None
    try:
        options = await resolve(target, ssh_config)
        place = f"{options.host} port {options.port}"
        # Not left to asyncssh: a jump host's key must be checked, and explained, as strictly.
        for hop in _hops(target.node, options.tunnel) if tunnel is None else ():
            if hop.address in seen:
                raise LinkFailed(f"ProxyJump {hop.address} leads back to itself", True)
            tunnel = await _connect(hop, ssh_config, tunnel, (*seen, target.address))
        _check_keys(target.node, options)
        files = hostkeys.files(options.known_hosts)
        keys = hostkeys.HostKeys(target.node, files, options.host_key_alias)
        ssh = await _open(target, ssh_config, keys, tunnel)
        return Connection(ssh, tunnel, place)
    except BaseException as error:
        if tunnel is not None:
            tunnel.abort()
        if keys is not None and keys.problem is not None:
            raise keys.problem from error
        if isinstance(error, (OSError, ValueError, asyncssh.Error)):
            raise explain(target.node, place, error) from error
        raise


def _check_keys(node: str, options: asyncssh.SSHClientConnectionOptions) -> None:
    """Refuse a private key that others may read, as ssh does and asyncssh does not."""
    named = options.config.get("IdentityFile")
    for name in named if isinstance(named, list) else ():
        path = Path(str(name)).expanduser()
        if path.is_file() and path.stat().st_mode & 0o077:
            raise LinkFailed(
                f"{node}: the private key {path} can be read by others; `chmod 600 {path}`, and "
                "make a new one if others had access",
                needs_person=True,
            )


async def _open(
    target: Target, ssh_config: Path | None, keys: hostkeys.HostKeys, tunnel: Connection | None
) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        **_named(target, ssh_config),
        tunnel=None if tunnel is None else tunnel.ssh,
        known_hosts=keys.known,
        client_factory=lambda: keys,
        keepalive_interval=KEEPALIVE_S,
        keepalive_count_max=KEEPALIVE_COUNT,
        # Timed as a whole, jump hosts included.
        connect_timeout=None,
        agent_forwarding=False,
        x11_forwarding=False,
        # A link never asks: a password prompt would hang behind the screen.
        password_auth=False,
        kbdint_auth=False,
    )


def _named(target: Target, ssh_config: Path | None) -> dict[str, Any]:
    """The host and what was said of it outside the ssh configuration."""
    named: dict[str, Any] = {"host": target.address}
    if ssh_config is not None:
        named["config"] = [str(ssh_config)]
    if target.user is not None:
        named["username"] = target.user
    if target.port is not None:
        named["port"] = target.port
    return named


def _hops(node: str, proxy_jump: object) -> list[Target]:
    """`user@host:port,...` as the hosts it names."""
    hops = []
    for word in proxy_jump.split(",") if isinstance(proxy_jump, str) else ():
        user, _, host = word.strip().removeprefix("ssh://").rpartition("@")
        name, colon, port = host.rpartition(":")
        if colon and port.isdigit():
            hops.append(Target(node, name.strip("[]"), user or None, int(port)))
        else:
            hops.append(Target(node, host, user or None))
    return hops
