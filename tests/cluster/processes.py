"""The test's own look at a node's processes: this machine's /proc, never the product."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARKER = "COCKPIT_RUN"
"""The environment variable that every process of a run carries."""


class ProcessGone(RuntimeError):
    """The process ended before it could be signalled."""


@dataclass(frozen=True, slots=True)
class Proc:
    """One process of a node, as it was when it was read."""

    host_pid: int
    """Its pid on this machine."""
    pid: int
    """Its pid as the node itself sees it."""
    start_ticks: int
    """Start time in clock ticks after this machine's boot; with the pid it is the identity."""
    state: str
    """One letter of proc(5): R, S, D, T, Z."""
    comm: str
    argv: tuple[str, ...]
    environ: dict[str, str] = field(repr=False, hash=False)

    @property
    def mark(self) -> str | None:
        """The run it belongs to, `<run id>/<attempt>/<node>`; None for a process of no run."""
        return self.environ.get(MARKER)


def start_ticks(pid: int) -> int | None:
    """When a process of this machine started, in clock ticks after boot; None once it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(_fields_after_comm(stat)[19])


def in_pid_namespace(link: str) -> Iterator[Proc]:
    """Every process whose `/proc/PID/ns/pid` is `link`, zombies included."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") == link:
                    yield _read(int(entry))
            except (FileNotFoundError, ProcessLookupError):
                continue  # It ended while it was being read: it is not there.
            except PermissionError:
                continue  # It has rights that this test lacks, so no node of ours started it.


def send(proc: Proc, signum: signal.Signals) -> None:
    """Signals exactly this process; raises `ProcessGone` rather than hit another of its pid."""
    try:
        pidfd = os.pidfd_open(proc.host_pid)
    except ProcessLookupError:
        raise ProcessGone(f"{proc} had already ended.") from None
    try:
        if start_ticks(proc.host_pid) != proc.start_ticks:
            raise ProcessGone(f"{proc} had already ended; its pid is another process now.")
        signal.pidfd_send_signal(pidfd, signum)
    except ProcessLookupError:
        raise ProcessGone(f"{proc} had already ended.") from None
    finally:
        os.close(pidfd)


def _read(host_pid: int) -> Proc:
    directory = Path(f"/proc/{host_pid}")
    status = dict(
        line.split(":\t", 1)
        for line in (directory / "status").read_text(errors="replace").splitlines()
        if ":\t" in line
    )
    argv = (directory / "cmdline").read_bytes().decode(errors="surrogateescape")
    environ = (directory / "environ").read_bytes().decode(errors="surrogateescape")
    return Proc(
        host_pid=host_pid,
        pid=int(status["NSpid"].split()[-1]),
        start_ticks=int(_fields_after_comm((directory / "stat").read_text(errors="replace"))[19]),
        state=status["State"][0],
        comm=status["Name"],
        argv=tuple(argv.rstrip("\0").split("\0")),
        environ=dict(pair.split("=", 1) for pair in environ.split("\0") if "=" in pair),
    )


def _fields_after_comm(stat: str) -> list[str]:
    # A comm may hold spaces and brackets: only what follows the last bracket is regular.
    return stat[stat.rindex(")") + 2 :].split()
