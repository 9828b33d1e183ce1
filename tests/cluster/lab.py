"""A whole cluster on one machine: nodes, their network, and the SSH settings to reach them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster import leftovers, owner
from tests.cluster.commands import run
from tests.cluster.disk import Disk, empty_homes
from tests.cluster.node import LabNode
from tests.cluster.wiring import Switch

_HOST = """\
Host {name}
    HostName {address}
"""
_ALL_HOSTS = """\
Host {names}
    User root
    Port 22
    IdentityFile {key}
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {known_hosts}
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode yes
"""


class Lab:
    """Nodes `gpu1`, `gpu2`, ... with real sshd; `close` leaves nothing of them behind."""

    def __init__(
        self,
        name: str,
        directory: Path,
        switch: Switch,
        nodes: Iterable[LabNode],
        shared_homes: Path | None,
    ) -> None:
        self.name = name
        self.directory = directory
        """A directory of this machine for the lab's keys and settings; gone after `close`."""
        self.switch = switch
        self.nodes = {node.name: node for node in nodes}
        self.ssh_config = directory / "ssh_config"
        """For `ssh -F`: one alias for each node."""
        self.known_hosts = directory / "known_hosts"
        self.identity = directory / "id_ed25519"
        self._shared_homes = shared_homes

    @classmethod
    def start(cls, nodes: int = 3, *, shared_home: bool = False) -> Lab:
        """Boots a lab and returns when every sshd listens; first removes labs of dead test runs.

        With `shared_home` all nodes have one /home, as over NFS.
        """
        leftovers.sweep()
        name = owner.new_name()
        with ExitStack() as undo:
            undo.callback(leftovers.remove, name)
            lab = cls._lay_out(name, [f"gpu{i + 1}" for i in range(nodes)], shared_home)
            undo.callback(lab._power_off_all)
            lab.trust_host_keys()
            with ThreadPoolExecutor() as pool:
                list(pool.map(LabNode.power_on, lab.nodes.values()))
            undo.pop_all()
        return lab

    def close(self) -> None:
        """Ends every process of the lab and removes all it made; may be called again."""
        try:
            self._power_off_all()
        finally:
            leftovers.remove(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def wipe(self) -> None:
        """Makes every node a new machine with nothing on it, and trusts their host keys."""
        self._power_off_all()
        if self._shared_homes is not None:
            empty_homes(self._shared_homes)
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabNode.wipe, self.nodes.values()))
        self.trust_host_keys()

    def trust_host_keys(self) -> None:
        """Writes each node's present host key to known_hosts."""
        lines = [f"{node.name},{node.address} {node.disk.host_key}" for node in self.nodes.values()]
        self.known_hosts.write_text("\n".join(lines) + "\n")

    @classmethod
    def _lay_out(cls, name: str, names: list[str], shared_home: bool) -> Lab:
        directory = Path(tempfile.gettempdir()) / name
        directory.mkdir(mode=0o700)
        key = directory / "id_ed25519"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)])
        public = key.with_suffix(".pub").read_text()
        homes = directory / "homes" if shared_home else None
        if homes is not None:
            empty_homes(homes)
        switch = Switch(name, names)
        nodes = [
            LabNode(node, switch, Disk(directory / node, node, socket.address, public, homes))
            for node, socket in switch.sockets.items()
        ]
        lab = cls(name, directory, switch, nodes, homes)
        blocks = [_HOST.format(name=node.name, address=node.address) for node in nodes]
        everyone = _ALL_HOSTS.format(names=" ".join(names), key=key, known_hosts=lab.known_hosts)
        lab.ssh_config.write_text("\n".join([*blocks, everyone]))
        return lab

    def _power_off_all(self) -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabNode.power_off, self.nodes.values()))
