"""One node of the lab, its sshd, and the faults it can have."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster import processes
from tests.cluster.commands import CommandFailed
from tests.cluster.disk import Disk
from tests.cluster.machine import ENVIRONMENT, Machine
from tests.cluster.processes import Proc
from tests.cluster.wait import until
from tests.cluster.wiring import Switch

_SSHD = "/usr/sbin/sshd"
_SSH_LISTENS = "0016 00000000:0000 0A"
"""Port 22, no peer, LISTEN: as a line of /proc/net/tcp says it."""


class LabNode:
    """A machine of its own: hostname, address, processes, home, sshd. Born powered off."""

    def __init__(self, name: str, switch: Switch, disk: Disk) -> None:
        self.name = name
        self.address = switch.sockets[name].address
        self.disk = disk
        self._switch = switch
        self._machine: Machine | None = None

    @property
    def is_on(self) -> bool:
        return self._machine is not None

    @property
    def host_key_fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it: `SHA256:...`."""
        return self.disk.host_key_fingerprint

    @property
    def boot_id(self) -> str:
        """What the node has shown as its boot id since it was last powered on."""
        return self.read("/proc/sys/kernel/random/boot_id").strip()

    def power_on(self) -> None:
        """Boots: a new boot id, empty /tmp, /run and /dev/shm, the same home and /var/tmp."""
        if self._machine is None:
            self.disk.new_boot()
            self._switch.plug_in(self.name)
            namespace = self._switch.sockets[self.name].namespace
            try:
                self._machine = Machine(self._switch.lab, self.name, namespace, self.disk)
            except BaseException:
                self._switch.unplug(self.name)
                raise
            self.start_sshd()

    def power_off(self) -> None:
        """Takes the power away: first the network is silent, then everything dies at once."""
        if self._machine is not None:
            # Before the kill: a dying kernel's sockets must say no goodbye.
            self._switch.faults.silence(self.name)
            self._machine.kill()
            self._machine = None
            self._switch.unplug(self.name)

    def cut(self) -> None:
        """Drops all packets from and to the node, both ways and silently, until `heal`."""
        self._switch.faults.cut(self.name)

    def cut_from(self, other: LabNode) -> None:
        """Drops all packets between this node and another until one of the two is healed."""
        self._switch.faults.cut_between(self.name, other.name)

    def lose(self, percent: float) -> None:
        """Drops this share of the packets from and to the node, by chance, until `heal`."""
        self._switch.faults.lose(self.name, percent)

    def throttle(self, mbit_per_s: float) -> None:
        """Limits its network to this rate each way, until `heal` or `power_off`."""
        self._switch.throttle(self.name, mbit_per_s)

    def heal(self) -> None:
        """Ends every cut, loss and limit of its network."""
        self._switch.faults.heal(self.name)
        if self.is_on:
            self._switch.unthrottle(self.name)

    def wipe(self) -> None:
        """Makes it a new machine with nothing on it: same name, address and first host key."""
        self.power_off()
        self.disk.reset()
        self.heal()
        self.power_on()

    def run(self, argv: Sequence[str], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a command in the node without SSH, as a test's own eye; checks no status."""
        return subprocess.run(
            self._running().inside(argv),
            input=stdin,
            check=False,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            cwd="/",
            env=ENVIRONMENT,
        )

    def read(self, path: str) -> str:
        """The text of a file of the node."""
        return self._checked(["cat", "--", path])

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Writes a file of the node, and the directories above it.

        Allowed where the node's file system is its own: its home, /tmp, /var/tmp, /run, /dev/shm,
        /usr/bin and /usr/local.
        """
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1" && chmod "$2" -- "$1"'
        self._checked(["sh", "-c", script, "sh", path, f"{mode:o}"], stdin=text)

    def host_path(self, path: str) -> Path:
        """Where this machine finds a file of the node; absolute links on the way lead astray."""
        return Path(f"/proc/{self._running().init_pid}/root") / path.lstrip("/")

    def processes(self) -> list[Proc]:
        """Every process of the node, read from this machine's /proc; none while it is off."""
        if self._machine is None:
            return []
        return list(processes.in_pid_namespace(self._machine.pid_namespace))

    def marked(self, run_id: str | None = None) -> list[Proc]:
        """The processes that carry a run's mark: of this run, or of any."""
        return [
            proc
            for proc in self.processes()
            if proc.mark is not None and (run_id is None or proc.mark.split("/")[0] == run_id)
        ]

    def kill(self, proc: Proc, signum: signal.Signals = signal.SIGKILL) -> None:
        """Signals one process; raises `ProcessGone` if it is not that process any more."""
        processes.send(proc, signum)

    def sshd_listener(self) -> Proc | None:
        """The sshd that accepts connections; None while it is stopped."""
        recorded = self.run(["cat", "/run/sshd.pid"])
        return next(
            (proc for proc in self.processes() if str(proc.pid) == recorded.stdout.strip()), None
        )

    def sshd_sessions(self) -> list[Proc]:
        """The sshd processes that serve open connections."""
        listener = self.sshd_listener()
        return [
            proc
            for proc in self.processes()
            if proc.comm.startswith("sshd")
            and proc.state != "Z"
            and (listener is None or proc.pid != listener.pid)
        ]

    def start_sshd(self) -> None:
        """Starts sshd and returns once it accepts connections."""
        # What comes from outside is not in the node's cgroup; sshd and all it starts must be.
        script = (
            "if [ -e /sys/fs/cgroup/cgroup.procs ]; then echo 0 > /sys/fs/cgroup/cgroup.procs; fi; "
            f"exec {_SSHD} -f /run/node/sshd_config -E /run/node/sshd.log"
        )
        self._checked(["sh", "-c", script])
        until(self._listens, f"sshd of {self.name} to listen")

    def stop_sshd(self) -> None:
        """Ends the listening sshd: new connections are refused, open ones go on."""
        if (listener := self.sshd_listener()) is not None:
            self.kill(listener, signal.SIGTERM)
            until(lambda: self.sshd_listener() is None, f"sshd of {self.name} to end")

    def restart_sshd(self) -> None:
        """Ends and starts the listening sshd; open connections go on."""
        self.stop_sshd()
        self.start_sshd()

    def configure_sshd(self, *lines: str) -> None:
        """Puts lines such as `MaxSessions 2` first in sshd_config, until `wipe`; restarts sshd."""
        self.disk.configure_sshd(lines)
        self.restart_sshd()

    def set_environment(self, variables: Mapping[str, str]) -> None:
        """What every new SSH session finds in its environment; the latest call holds."""
        pairs = " ".join(f'"{name}={value}"' for name, value in variables.items())
        self.configure_sshd(f"SetEnv {pairs}")

    def change_host_key(self) -> None:
        """Another host key, which the lab's known_hosts does not hold, until `wipe`."""
        self.disk.change_host_key()
        self.restart_sshd()

    def set_login_shell(self, path: str) -> None:
        """What sshd starts for each new session, until `wipe`."""
        self.disk.set_login_shell(path)

    def limit_space(self, directory: str, size_bytes: int) -> None:
        """Puts an empty file system of this size on a directory, until the node boots again."""
        script = 'mkdir -p -- "$1" && mount -t tmpfs -o "size=$2" tmpfs "$1"'
        self._checked(["sh", "-c", script, "sh", directory, str(size_bytes)])

    def hide_python(self) -> None:
        """Leaves no python to be found on the node's PATH until it boots again."""
        self._checked(["sh", "-c", "rm -f /usr/bin/python* /usr/local/bin/python*"])

    def _listens(self) -> bool:
        table = Path(f"/proc/{self._running().init_pid}/net/tcp").read_text()
        return _SSH_LISTENS in table

    def _running(self) -> Machine:
        if self._machine is None:
            raise CommandFailed(f"{self.name} is powered off; nothing runs on it until power_on().")
        return self._machine

    def _checked(self, argv: Sequence[str], *, stdin: str = "") -> str:
        ended = self.run(argv, stdin=stdin)
        if ended.returncode != 0:
            command = " ".join(argv)
            raise CommandFailed(
                f"{self.name}: `{command}` ended with {ended.returncode}: {ended.stderr}"
            )
        return ended.stdout
