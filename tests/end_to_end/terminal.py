"""A person's terminal: keys go in, the screen is read back."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.wait import until

PATIENCE_S = 60.0


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
        self._socket = str(directory / "tmux")
        columns, rows = map(str, size)
        self.tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows),
            *(f"exec {shlex.join(argv)}", ";", "set-option", "remain-on-exit", "on"),
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
    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def exit_status(self) -> int | None:
        """Of the program; None while it runs."""
        dead, status = self.tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}").split(
            " "
        )
        return int(status) if dead.strip() == "1" and status.strip() else None

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

    def close(self) -> None:
        self.tmux("kill-server")
