"""The namespaces that make a node a machine of its own, from boot to power off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import leftovers, wait
from tests.cluster.commands import CommandFailed
from tests.cluster.disk import HOME, Disk

ENVIRONMENT = {
    "HOME": HOME,
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
"""What a command that a test runs in a node finds in its environment, and nothing else."""
_KINDS = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
_BOOT = Path(__file__).with_name("boot.py")
_REPOSITORY = Path(__file__).resolve().parents[2]


class Machine:
    """One boot of a node: its first process, in namespaces that end when it ends."""

    def __init__(self, lab: str, name: str, network_namespace: str, disk: Disk) -> None:
        self.name = name
        root = leftovers.cgroup_root()
        self._cgroup = root / lab / name if root is not None else None
        if self._cgroup is not None:
            self._cgroup.mkdir(parents=True)
        self._boot = self._start(network_namespace, disk)
        try:
            self._wait_until_booted(disk)
        except BaseException:
            self._boot.kill()
            self._bury()
            raise
        children = Path(f"/proc/{self._boot.pid}/task/{self._boot.pid}/children").read_text()
        self.init_pid = int(children)
        """The node's first process, as this machine numbers it."""
        self.pid_namespace = os.readlink(f"/proc/{self.init_pid}/ns/pid")

    def inside(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` in the node without SSH."""
        return ["nsenter", "--target", str(self.init_pid), *_KINDS, "--wd=/", "--", *argv]

    def kill(self) -> None:
        """Ends every process of the node at once and returns when the last one is gone."""
        os.kill(self.init_pid, signal.SIGKILL)
        self._bury()

    def _bury(self) -> None:
        self._boot.wait(wait.PATIENCE_S)
        assert self._boot.stdin is not None
        self._boot.stdin.close()
        if self._cgroup is not None:
            leftovers.remove_cgroup(self._cgroup)

    def _start(self, network_namespace: str, disk: Disk) -> subprocess.Popen[str]:
        spec = {
            "name": self.name,
            "directory": str(disk.directory),
            "homes": str(disk.homes),
            "kept": _kept_paths(),
            "cgroup": str(self._cgroup) if self._cgroup is not None else None,
        }
        enter = ["nsenter", f"--net=/run/netns/{network_namespace}", "--"]
        isolate = ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child"]
        boot = ["--mount-proc", sys.executable, "-I", "-S", str(_BOOT), json.dumps(spec)]
        with (disk.directory / "boot.log").open("w") as log:
            return subprocess.Popen(
                [*enter, *isolate, *boot],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=ENVIRONMENT,
                # Ctrl-C is for the test, which then ends the nodes in order.
                start_new_session=True,
            )

    def _wait_until_booted(self, disk: Disk) -> None:
        assert self._boot.stdout is not None
        with self._boot.stdout as answers:
            if answers.readline() != "ready\n":
                log = (disk.directory / "boot.log").read_text()
                raise CommandFailed(f"{self.name} did not boot:\n{log}")


def _kept_paths() -> list[str]:
    """What a node must still see where its private directories would hide it."""
    interpreter = {Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.executable))}
    hidden = (Path("/tmp"), Path("/home"), Path("/run"), Path("/var/tmp"))
    needed = {_REPOSITORY} | {
        path
        for path in interpreter
        if any(path.is_relative_to(place) for place in hidden)
        and not path.is_relative_to(_REPOSITORY)
    }
    return sorted(str(path) for path in needed)
