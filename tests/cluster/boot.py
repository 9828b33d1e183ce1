"""The first process of a node: makes the node's own view of the machine, then waits as its init.

It runs as a script, in namespaces that are new, with the standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
READ_ONLY, NO_SUID, NO_DEV, REMOUNT, BIND = 1, 2, 4, 32, 4096
NEW_CGROUP_NAMESPACE = 0x02000000


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    words = [word.encode() or None for word in (source, target, kind, data)]
    if LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mounting {source} on {target}: {os.strerror(error)}")


def tmpfs(target: str, mode: str) -> None:
    mount("tmpfs", target, "tmpfs", NO_SUID | NO_DEV, f"mode={mode}")


def bind(source: str, target: str) -> None:
    mount(source, target, flags=BIND)


def private_directories(node: str, homes: str) -> None:
    """Volatile places are new at each boot; homes and /var/tmp outlive it, as on a real one."""
    for target in ("/tmp", "/dev/shm"):
        tmpfs(target, mode="1777")
    for target in ("/run", "/var/log"):
        tmpfs(target, mode="755")
    for target in ("/run/sshd", "/run/node", "/run/overlay"):
        os.makedirs(target)
    os.makedirs("/run/lock")
    os.chmod("/run/lock", 0o1777)
    bind(node, "/run/node")
    bind(f"{node}/var_tmp", "/var/tmp")
    bind(homes, "/home")


def own_files() -> None:
    """Accounts, names and identity of this node over the machine's."""
    for source in Path("/run/node/etc").iterdir():
        if os.path.exists(f"/etc/{source.name}"):
            bind(str(source), f"/etc/{source.name}")
    bind("/run/node/boot_id", "/proc/sys/kernel/random/boot_id")


def writable_over(directory: str) -> None:
    """Lets the node add and remove files in a directory that all nodes and the machine share."""
    layers = "/run/overlay/" + directory.strip("/").replace("/", "-")
    for layer in ("upper", "work"):
        os.makedirs(f"{layers}/{layer}")
    options = f"lowerdir={directory},upperdir={layers}/upper,workdir={layers}/work"
    mount("overlay", directory, "overlay", data=options)


def kernel_views(cgroup: str | None) -> None:
    """Network devices, terminals and cgroups of this node alone."""
    if cgroup is not None:
        Path(cgroup, "cgroup.procs").write_text("0")
        if LIBC.unshare(NEW_CGROUP_NAMESPACE) != 0:
            raise OSError(ctypes.get_errno(), "no cgroup namespace for the node")
    mount("sysfs", "/sys", "sysfs")
    if cgroup is not None:
        mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    mount("devpts", "/dev/pts", "devpts", data="newinstance,ptmxmode=0666,mode=620,gid=5")


def main() -> None:
    spec = json.loads(sys.argv[1])
    # Held open by descriptor: the private directories may hide their paths.
    node = f"/proc/self/fd/{os.open(spec['directory'], os.O_PATH)}"
    homes = f"/proc/self/fd/{os.open(spec['homes'], os.O_PATH)}"
    kept = {path: os.open(path, os.O_PATH) for path in spec["kept"]}
    socket.sethostname(spec["name"])
    private_directories(node, homes)
    for path, descriptor in kept.items():
        os.makedirs(path, exist_ok=True)
        bind(f"/proc/self/fd/{descriptor}", path)
        mount("", path, flags=BIND | REMOUNT | READ_ONLY)
    own_files()
    for directory in ("/usr/bin", "/usr/local"):
        writable_over(directory)
    kernel_views(spec["cgroup"])
    os.chdir("/")
    os.write(1, b"ready\n")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    # Children of a process that ignores SIGCHLD are reaped by the kernel: no zombie stays behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.closerange(3, 1024)
    # Reads a pipe that the lab's maker holds open: when the maker dies, however it dies, so does
    # this process, and with it the whole node.
    os.execv("/bin/cat", ["cat"])


main()
