"""Which file system a path lies on, as the kernel names it."""

from __future__ import annotations

import os
from typing import NamedTuple


class Mount(NamedTuple):
    """One line of /proc/self/mountinfo."""

    device: str
    """`major:minor`, decimal; what /proc/locks prints in hexadecimal. On btrfs not st_dev."""
    kind: str
    """File system type: ext4, nfs4, ..."""


NETWORK_KINDS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "beegfs", "gpfs", "glusterfs"}
    | {"panfs", "pvfs2", "orangefs", "wekafs", "ocfs2", "gfs2", "9p", "virtiofs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs"}
)
"""File systems that other machines may write at the same time."""


def mount_of(path: str) -> Mount | None:
    """The mount that `path` lies on, or None where /proc does not say."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
    finally:
        os.close(descriptor)
    wanted = fields.get("mnt_id", "").strip()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            words = left.split()
            if words and words[0] == wanted:
                return Mount(words[2], right.split()[0])
    return None
