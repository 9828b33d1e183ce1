"""A person's terminal: keys go in, the screen is read back."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.wait import until

PATIENCE_S = 60.0
_SCRIPT = """\
rm -f ended
sh -c 'echo $$ > pid; exec "$@"' sh "$@"
echo $? > ended
exec cat
"""
"""Leaves the program's pid and then its exit status in files, and its last screen to be read."""


class Terminal:
    """One program in a window of a tmux server of its own."""

    def __init__(
        self,
        directory: Path,
        argv: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (140, 40),
    ) -> None:
        """`directory` is where the program starts; `size` is columns and rows."""
        self._directory = directory
        self._environment = {**environment, "TERM": "xterm-256color"}
        # One of its own each: a server that is going takes no new session.
        self._socket = str(Path(tempfile.mkdtemp(dir=directory)) / "tmux")
        columns, rows = map(str, size)
        self.tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows),
            shlex.join(["exec", "sh", "-c", _SCRIPT, "sh", *argv]),
        )

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        return done.stdout

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    @property
    def exit_status(self) -> int | None:
        """Of the program; None while it runs."""
        ended = self._directory / "ended"
        text = ended.read_text() if ended.exists() else ""
        return int(text) if text else None

    def kill(self) -> None:
        """End the program as a crash would, and return when it is gone."""
        os.kill(int((self._directory / "pid").read_text()), signal.SIGKILL)
        until(lambda: self.exit_status == 128 + signal.SIGKILL, "the program to be dead")

    def press(self, *keys: str) -> None:
        """Keys as tmux names them."""
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def until_seen(self, *texts: str, patience_s: float = PATIENCE_S) -> str:
        """The screen once all of `texts` are on it."""
        shown = ""

        def is_seen() -> bool:
            nonlocal shown
            shown = self.screen
            return all(text in shown for text in texts)

        try:
            until(is_seen, f"{texts}", patience_s)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{shown}") from error
        return shown

    def until_ended(self) -> None:
        """Until the program has ended well."""
        try:
            until(lambda: self.exit_status == 0, "the program to end")
        except TimeoutError as error:
            raise AssertionError(f"{error} {self.exit_status}\n{self.screen}") from error

    def close(self) -> None:
        self.tmux("kill-server")
