"""The process that a job is started with: torchrun, or the job itself."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Mapping, NamedTuple, Protocol, Sequence

from cockpit_node.children import Children
from cockpit_node.outputs import Outputs
from cockpit_node.processes import Identity, lives, process, send


class Ended(NamedTuple):
    """How a launcher ended."""

    code: int | None
    """As a shell counts: 128 + n for a signal; None where nobody could see."""
    signal: str | None
    """SIGKILL, ..."""


UNSEEN = Ended(None, None)


class Launcher(Protocol):
    """What the supervisor knows of the launcher, whoever started it."""

    @property
    def identity(self) -> Identity | None: ...

    def ended(self) -> Ended | None:
        """None while it runs."""


class Started:
    """A launcher that this supervisor started: leader of its own session, no terminal."""

    def __init__(
        self,
        argv: Sequence[bytes],
        env: Mapping[bytes, bytes],
        workdir: str,
        outputs: Outputs,
        children: Children,
        umask: int,
    ) -> None:
        self._children = children
        stdout, stderr = _open(outputs.stdout), _open(outputs.stderr)
        ours = os.umask(umask)
        try:
            started = subprocess.Popen(
                argv,
                env=env,
                cwd=workdir,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        finally:
            os.umask(ours)
            os.close(stdout)
            os.close(stderr)
        children.watch(started.pid)
        # Children reaps it; Popen must not wait for a pid that is no longer its child's.
        started.returncode = 0
        row = process(started.pid)
        self.identity = row.identity if row else Identity(started.pid, 0)

    def ended(self) -> Ended | None:
        status = self._children.status
        if status is None:
            return None
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return Ended(128 + number, signal_name(number))
        return Ended(os.WEXITSTATUS(status), None)


class Adopted:
    """A launcher that a dead supervisor started; its exit code is nobody's to see."""

    def __init__(self, identity: Identity | None) -> None:
        self.identity = identity

    def ended(self) -> Ended | None:
        return None if self.identity is not None and lives(self.identity) else UNSEEN


def ask_to_end(launcher: Launcher) -> None:
    """SIGTERM to the launcher alone; it passes the word on to its ranks."""
    if launcher.identity is not None:
        send(launcher.identity, signal.SIGTERM)
        # One that was stopped could not hear.
        send(launcher.identity, signal.SIGCONT)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
