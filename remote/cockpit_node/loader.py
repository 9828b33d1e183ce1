"""Starts the agent: says whether this node has it, takes it if not, checks it, becomes it.

Sent as text to `python3 -I -c`, so it stands alone. docs/protocol.md, "The link".
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile


def main(nonce: str, digest: str, length: int, state_dir: str) -> None:
    """Never returns: this process becomes `serve` of the agent whose sha256 is `digest`."""
    os.environ["COCKPIT_NODE_UMASK"] = f"{os.umask(0o077):03o}"  # The user's own, for jobs.
    kept = next((path for path in _places(state_dir, digest) if _holds(path, digest)), None)
    os.write(1, f"COCKPIT-READY {nonce} {'have' if kept else 'need'}\n".encode())
    agent = kept or _keep(_receive(length, digest), digest, state_dir)
    os.execv(sys.executable, [sys.executable, "-I", agent, "serve"])


def _places(state_dir: str, digest: str) -> list[str]:
    """Where an agent may be kept, best first; the hash makes every place as good."""
    roots = [state_dir] if state_dir else ["~/.local/state/cockpit-node"]
    roots.append(f"/var/tmp/cockpit-{os.getuid()}")
    return [os.path.join(os.path.expanduser(root), "agent", digest + ".pyz") for root in roots]


def _holds(path: str, digest: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return os.fstat(descriptor).st_uid == os.getuid() and _digest(file.read()) == digest


def _receive(length: int, digest: str) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = os.read(0, min(1 << 20, length - len(data)))
        if not piece:
            sys.exit(f"the link ended after {len(data)} of {length} bytes of the agent")
        data += piece
    if _digest(bytes(data)) != digest:
        sys.exit("the agent was damaged on its way: its sha256 differs")
    return bytes(data)


def _keep(data: bytes, digest: str, state_dir: str) -> str:
    """The path of the agent, kept on disk where one takes it, else in memory."""
    for path in _places(state_dir, digest):
        if _write(path, data):
            return path
    descriptor = os.memfd_create("cockpit-node")
    os.set_inheritable(descriptor, True)
    os.write(descriptor, data)
    return f"/proc/self/fd/{descriptor}"


def _write(path: str, data: bytes) -> bool:
    """Whether `path` now holds `data`; false where the disk is full, read-only or not ours."""
    directory = os.path.dirname(path)
    partial: str | None = None
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        if not all(_ours(place) for place in (directory, os.path.dirname(directory))):
            return False
        descriptor, partial = tempfile.mkstemp(dir=directory, prefix=".agent-")
        with open(descriptor, "wb") as file:
            file.write(data)
        os.rename(partial, path)
    except OSError:
        if partial is not None and os.path.exists(partial):
            os.unlink(partial)
        return False
    return True


def _ours(directory: str) -> bool:
    seen = os.lstat(directory)
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o022


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
