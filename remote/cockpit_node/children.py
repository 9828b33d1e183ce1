"""The supervisor's children, its own and the orphans it adopts, and its waiting for them."""

from __future__ import annotations

import ctypes
import os
import select
import signal
from types import FrameType

_PR_SET_CHILD_SUBREAPER = 36


class Children:
    """Every process below this one becomes a child of it when its parent dies, and is reaped."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this kernel has no child subreaper")
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        # Handlers rather than SIG_IGN: what a process ignores, its children would ignore.
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, _nothing)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told_to_end)
        self.told_to_end = False
        """Whether someone asked this supervisor itself to go, as a node does that shuts down."""
        self._watched: int | None = None
        self._status: int | None = None

    def watch(self, pid: int) -> None:
        """Keep the status of this child."""
        self._watched = pid

    @property
    def status(self) -> int | None:
        """The watched child's, as waitpid gave it; None while it runs."""
        self.reap()
        return self._status

    def wait(self, seconds: float) -> None:
        """Until a child has changed, or for so long."""
        ready, _, _ = select.select([self._woken], [], [], seconds)
        if ready:
            os.read(self._woken, 4096)
        self.reap()

    def reap(self) -> None:
        """Take the status of all that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._watched:
                self._status = status

    def _told_to_end(self, number: int, frame: FrameType | None) -> None:
        self.told_to_end = True


def _nothing(number: int, frame: FrameType | None) -> None:
    """The signal has done its work by waking the wait."""
