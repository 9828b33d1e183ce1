"""Removes everything that carries a lab's name: its processes, network, directories and cgroups."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import owner
from tests.cluster.commands import CommandFailed, run

_NETWORK_NAMESPACES = Path("/run/netns")
_PATIENCE_S = 20.0


def sweep() -> list[str]:
    """Removes the labs whose makers are dead and returns their names."""
    with owner.one_at_a_time():
        names = [*_namespaces(), *(alias for _, alias in _interfaces())]
        names += [path.name for path in [*_directories(), *_cgroups()]]
        labs = {lab for name in names if (lab := owner.lab_of(name)) is not None}
        dead = sorted(lab for lab in labs if not owner.is_alive(lab))
        for lab in dead:
            remove(lab)
    return dead


def remains(lab: str) -> list[str]:
    """What is still there of a lab, in words; empty once it is gone."""
    found = [f"network namespace {name}" for name in _namespaces() if _belongs(name, lab)]
    found += [f"interface {link}" for link, alias in _interfaces() if _belongs(alias, lab)]
    found += [f"{path}" for path in [*_directories(), *_cgroups()] if _belongs(path.name, lab)]
    return found


def remove(lab: str) -> None:
    """Kills all processes of a lab and removes all it made."""
    namespaces = [name for name in _namespaces() if _belongs(name, lab)]
    for name in namespaces:
        _kill_all_in(name)
    for link, alias in _interfaces():
        if _belongs(alias, lab):
            run(["ip", "link", "delete", link])
    for name in namespaces:
        run(["ip", "netns", "delete", name])
    for cgroup in _cgroups():
        if _belongs(cgroup.name, lab):
            remove_cgroup(cgroup)
    for directory in _directories():
        if _belongs(directory.name, lab):
            shutil.rmtree(directory)


def remove_cgroup(cgroup: Path) -> None:
    """Removes a cgroup and all below it; its processes must be dead."""
    for directory, _, _ in os.walk(cgroup, topdown=False):
        os.rmdir(directory)


def cgroup_root() -> Path | None:
    """Where cgroups v2 can be made on this machine; None where they cannot."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(mount_point, os.W_OK):
            return Path(mount_point)
    return None


def _kill_all_in(namespace: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while pids := run(["ip", "netns", "pids", namespace]).split():
        if time.monotonic() > deadline:
            raise CommandFailed(
                f"Processes {pids} in {namespace} survived SIGKILL; see their state in /proc."
            )
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue  # The node's first process took it along.


def _belongs(name: str, lab: str) -> bool:
    return owner.lab_of(name) == lab


def _namespaces() -> list[str]:
    return sorted(os.listdir(_NETWORK_NAMESPACES)) if _NETWORK_NAMESPACES.is_dir() else []


def _interfaces() -> Iterator[tuple[str, str]]:
    for alias in Path("/sys/class/net").glob("*/ifalias"):
        try:
            yield alias.parent.name, alias.read_text().strip()
        except FileNotFoundError:
            continue  # It went away while it was being read.


def _directories() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("cockpit-lab-*/"))


def _cgroups() -> list[Path]:
    root = cgroup_root()
    return list(root.glob("cockpit-lab-*/")) if root else []
