"""What a practice cluster keeps on disk, and the files that a client needs to reach it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shape:
    """How many nodes a practice cluster has, and what each of them offers."""

    nodes: int
    slots: int
    """Jobs a node takes at once where it has no simulated GPUs."""
    gpus: int
    """Simulated GPUs of each node; 0 makes it a node without GPUs."""

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= 64:
            raise ValueError(f"{self.nodes} practice nodes were asked for; ask for 1 to 64")
        if not 0 <= self.gpus <= 16:
            raise ValueError(f"{self.gpus} GPUs a node were asked for; ask for 0 to 16")
        if not 1 <= self.slots <= 256:
            raise ValueError(f"{self.slots} slots a node were asked for; ask for 1 to 256")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"demo{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True, slots=True)
class NodePaths:
    """The directories of one practice node."""

    directory: Path

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def state(self) -> Path:
        """What the cockpit keeps on the node: `<node>/<run id>/<attempt>/` below it."""
        return self.home / ".local" / "state" / "cockpit-node"

    @property
    def locks(self) -> Path:
        return self.directory / "locks"

    @property
    def temporary(self) -> Path:
        return self.directory / "tmp"

    def records(self) -> Iterator[Path]:
        """The supervisors' records of the runs on the node."""
        return self.state.glob("*/*/*/sup.json")

    def make(self) -> None:
        """Make the directories; the locks lie in a sticky one, as on a node that people share."""
        for directory in (self.home, self.locks, self.temporary):
            directory.mkdir(parents=True, mode=0o700)
        self.locks.chmod(0o1777)


@dataclass(frozen=True, slots=True)
class PracticePaths:
    """The files of one practice cluster."""

    directory: Path

    @property
    def lock(self) -> Path:
        """Held as long as the cluster's server or its owner lives."""
        return self.directory / "lock"

    @property
    def config(self) -> Path:
        return self.directory / "cockpit.toml"

    @property
    def ssh_config(self) -> Path:
        return self.directory / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"

    @property
    def client_key(self) -> Path:
        return self.directory / "client_key"

    def node(self, name: str) -> NodePaths:
        return NodePaths(self.directory / name)

    def nodes(self) -> tuple[NodePaths, ...]:
        """Those that were made, in whatever state the cluster died."""
        return tuple(NodePaths(home.parent) for home in self.directory.glob("*/home"))


@dataclass(frozen=True, slots=True)
class Address:
    """Where one practice node listens, and as whom."""

    name: str
    port: int
    user: str
    host_key: str
    """Its public key, one line as OpenSSH writes it."""


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)


def write_client_files(paths: PracticePaths, shape: Shape, addresses: Sequence[Address]) -> None:
    """Write ssh_config, known_hosts and cockpit.toml for servers that already listen."""
    hosts = [_host(paths, address) for address in addresses]
    keys = [f"[127.0.0.1]:{address.port} {address.host_key}\n" for address in addresses]
    write_private(paths.ssh_config, "\n".join(hosts).encode())
    write_private(paths.known_hosts, "".join(keys).encode())
    write_private(paths.config, _config(paths, shape).encode())


def _host(paths: PracticePaths, address: Address) -> str:
    return (
        f"Host {address.name}\n"
        f"    HostName 127.0.0.1\n"
        f"    Port {address.port}\n"
        f"    User {address.user}\n"
        f"    IdentityFile {_ssh_path(paths.client_key)}\n"
        f"    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {_ssh_path(paths.known_hosts)}\n"
        f"    StrictHostKeyChecking yes\n"
    )


def _ssh_path(path: Path) -> str:
    return '"' + str(path).replace("%", "%%") + '"'


def _config(paths: PracticePaths, shape: Shape) -> str:
    lines = ["[cluster]", f"name = {_toml(f'practice-{paths.directory.name}')}"]
    for name in shape.names:
        lines += ["", f"[nodes.{name}]", f"python = {_toml(sys.executable)}"]
        lines.append(f"state_dir = {_toml(str(paths.node(name).state))}")
        if shape.gpus == 0:
            lines.append(f"slots = {shape.slots}")
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
