"""Strict host keys: an unknown one and a changed one are told apart, and how to accept is said."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import asyncssh

from cockpit_remote.failures import LinkFailed

GLOBAL = Path("/etc/ssh/ssh_known_hosts")


class HostKeys(asyncssh.SSHClient):
    """Checks one server's key against the user's known hosts; no setting turns that off."""

    def __init__(self, node: str, files: Sequence[Path], alias: str | None) -> None:
        self._node = node
        self._files = files
        self._alias = alias
        """The name that known_hosts has it by, if not its own."""
        self.known = read(files)
        self.problem: LinkFailed | None = None
        """Why the key was refused; None while it was not."""

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Only asked for a key that is not among the known ones: always refused, with the why."""
        trusted = self.known.match(self._alias or host, addr, port if port != 22 else None)[0]
        name = self._alias or host
        self.problem = (
            _changed(self._node, self._files[0], name, host, port, key, trusted)
            if trusted
            else _unknown(self._node, self._files[0], name, host, port, key)
        )
        return False


def files(configured: object) -> list[Path]:
    """Where known hosts are looked up, the one that is written to first.

    `configured` is what asyncssh made of UserKnownHostsFile; for `none` it would check nothing
    at all, so that and nothing mean the default files here.
    """
    if isinstance(configured, list) and configured:
        return [Path(str(name)).expanduser() for name in configured]
    return [Path.home() / ".ssh" / "known_hosts", GLOBAL]


def read(files: Sequence[Path]) -> asyncssh.SSHKnownHosts:
    """The files that exist, as one. Raises LinkFailed."""
    text: list[str] = []
    for file in files:
        if not file.is_file():
            continue
        try:
            text += file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise LinkFailed(f"cannot read {file}: {error.strerror}", needs_person=True) from error
    try:
        return asyncssh.import_known_hosts("\n".join(text) + "\n")
    except ValueError as error:
        names = ", ".join(str(file) for file in files)
        raise LinkFailed(f"a line in {names} is no host key: {error}", needs_person=True) from error


def _unknown(
    node: str, file: Path, name: str, host: str, port: int, key: asyncssh.SSHKey
) -> LinkFailed:
    return LinkFailed(
        f"the host key of {node} is unknown: {_kind(key)} {key.get_fingerprint()}. "
        f"Compare it with its owner, then accept it: {_accept(file, name, host, port, key)}",
        needs_person=True,
    )


def _changed(
    node: str,
    file: Path,
    name: str,
    host: str,
    port: int,
    key: asyncssh.SSHKey,
    trusted: Sequence[asyncssh.SSHKey],
) -> LinkFailed:
    # Once each: a file may list a host's key by name and again by address.
    known = ", ".join(dict.fromkeys(f"{_kind(old)} {old.get_fingerprint()}" for old in trusted))
    pattern = name if port == 22 else f"[{name}]:{port}"
    forget = f"ssh-keygen -f {shlex.quote(str(file))} -R {shlex.quote(pattern)}"
    return LinkFailed(
        f"the host key of {node} has CHANGED: known is {known}, it now shows {_kind(key)} "
        f"{key.get_fingerprint()}. Somebody may be in between, or it was installed anew: ask its "
        f"owner. Only if the new key is right: {forget} && {_accept(file, name, host, port, key)}",
        needs_person=True,
    )


def _accept(file: Path, name: str, host: str, port: int, key: asyncssh.SSHKey) -> str:
    scan = f"ssh-keyscan -p {port} -t {_kind(key).lower()} {shlex.quote(host)}"
    if name != host:
        # Scanned by address, known by alias: the first word of the line is the name.
        scan += f" | sed 's/^[^ ]*/{name}/'"
    return f"{scan} >> {shlex.quote(str(file))}"


def _kind(key: asyncssh.SSHKey) -> str:
    """As ssh-keyscan -t takes it, in capitals as ssh prints it."""
    words = key.get_algorithm().removeprefix("sk-").removeprefix("ssh-").split("-")
    return words[0].upper()
