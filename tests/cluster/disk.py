"""What a node keeps over a reboot: its home, /var/tmp, host key, accounts and sshd's settings."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.commands import run

HOME = "/home/lab"
"""root's home in every node: the same path everywhere, another directory in each."""
RESEARCHERS = {"alice": 2001, "bob": 2002}
"""Accounts without rights and their uids, for `ssh -l`; their homes lie beside root's."""
_LOGIN_SHELL = "/bin/bash"
_SSHD_CONFIG = """\
ListenAddress {address}
HostKey /run/node/host_key
PidFile /run/sshd.pid
AuthorizedKeysFile /run/node/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
StrictModes no
PrintMotd no
PrintLastLog no
LogLevel VERBOSE
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
"""


class Disk:
    """The directory of one node, which the node itself sees as /run/node."""

    def __init__(
        self, directory: Path, name: str, address: str, authorized_key: str, homes: Path | None
    ) -> None:
        """`homes` is what several nodes share as /home; without it the node has its own."""
        self.directory = directory
        self.homes = homes or directory / "homes"
        """What the node has at /home."""
        self._homes_are_shared = homes is not None
        self._name = name
        self._address = address
        (directory / "etc").mkdir(parents=True)
        (directory / "authorized_keys").write_text(authorized_key)
        self._make_host_key("host_key.first")
        self.reset()

    @property
    def host_key(self) -> str:
        """The public key, as known_hosts wants it after the names."""
        return " ".join((self.directory / "host_key.pub").read_text().split()[:2])

    @property
    def host_key_fingerprint(self) -> str:
        return run(["ssh-keygen", "-lf", str(self.directory / "host_key.pub")]).split()[1]

    def reset(self) -> None:
        """First settings, first host key, nothing in /var/tmp nor in homes that are not shared."""
        if not self._homes_are_shared:
            empty_homes(self.homes)
        _empty(self.directory / "var_tmp", 0o1777)
        self._use_host_key("host_key.first")
        (self.directory / "sshd_config").write_text(_SSHD_CONFIG.format(address=self._address))
        (self.directory / "sshd.log").write_text("")
        self._write_etc()

    def new_boot(self) -> None:
        """Writes the boot id that the node will show from its next boot on."""
        (self.directory / "boot_id").write_text(f"{uuid.uuid4()}\n")

    def change_host_key(self) -> None:
        for key in self.directory.glob("host_key.changed*"):
            key.unlink()
        self._make_host_key("host_key.changed")
        self._use_host_key("host_key.changed")

    def configure_sshd(self, lines: Sequence[str]) -> None:
        """Puts lines first in sshd_config, where they win over all that follow."""
        config = self.directory / "sshd_config"
        config.write_text("\n".join([*lines, config.read_text()]))

    def set_login_shell(self, shell: str) -> None:
        ours = {"root", *RESEARCHERS}
        machine = Path("/etc/passwd").read_text().splitlines()
        accounts = [line for line in machine if line.split(":")[0] not in ours]
        accounts.append(f"root:x:0:0:lab:{HOME}:{shell}")
        for name, uid in RESEARCHERS.items():
            accounts.append(f"{name}:x:{uid}:{uid}:{name}:/home/{name}:{shell}")
        # In place: the running node has this very file mounted.
        (self.directory / "etc/passwd").write_text("\n".join(accounts) + "\n")

    def _write_etc(self) -> None:
        etc = self.directory / "etc"
        self.set_login_shell(_LOGIN_SHELL)
        # sshd without PAM refuses an account whose password field says "locked".
        shadow = [f"{name}:*:19000:0:99999:7:::\n" for name in ("root", *RESEARCHERS)]
        (etc / "shadow").write_text("".join(shadow))
        (etc / "hostname").write_text(f"{self._name}\n")
        (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        # No node's name resolves anywhere, its own included, as on many real clusters.
        (etc / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        (etc / "nsswitch.conf").write_text(
            "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
        )

    def _make_host_key(self, name: str) -> None:
        comment = f"root@{self._name}"
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment]
        run([*make, "-f", str(self.directory / name)])

    def _use_host_key(self, name: str) -> None:
        for suffix in ("", ".pub"):
            shutil.copy2(self.directory / f"{name}{suffix}", self.directory / f"host_key{suffix}")


def empty_homes(homes: Path) -> None:
    """Makes `homes` hold one empty home for root and one for each researcher."""
    _empty(homes, 0o755)
    for name, uid in {Path(HOME).name: 0, **RESEARCHERS}.items():
        (homes / name).mkdir(mode=0o700)
        os.chown(homes / name, uid, uid)


def _empty(directory: Path, mode: int) -> None:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir()
    directory.chmod(mode)
