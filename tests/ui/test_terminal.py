"""The screens in a real terminal, where escape sequences would be obeyed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.terminal
ROOT = Path(__file__).parents[2]


class Terminal:
    """One tmux server of its own with one window of 80x24."""

    def __init__(self, *command: str) -> None:
        self._socket = f"cockpit-test-{os.getpid()}"
        line = " ".join(command)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", line)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            check=False,
        )
        return done.stdout + done.stderr

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def until_seen(self, text: str) -> None:
        """Asks again and again, which starts a process each time."""
        deadline = time.monotonic() + 60
        while text not in (shown := self.screen):
            assert time.monotonic() < deadline, shown

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def hostile() -> Iterator[Terminal]:
    terminal = Terminal(sys.executable, "-m", "tests.ui.play", "hostile;", "exec", "cat")
    yield terminal
    terminal.close()


def test_no_foreign_byte_is_obeyed_on_the_screen_or_after_it(hostile: Terminal) -> None:
    title = hostile.tmux("display", "-p", "#{pane_title}")
    hostile.until_seen("▸1 Cluster")
    for key, seen in (("2", "▸2 Queue"), ("4", "▸4 Events"), ("3", "▸3 Job"), ("1", "▸1 Cluster")):
        hostile.press(key)
        hostile.until_seen(seen)
    hostile.press("q")
    hostile.until_seen("Quit? The jobs go on.")
    hostile.press("Enter")
    hostile.until_seen("goes on, on x[/] ␛]0;owned␇")
    assert hostile.tmux("display", "-p", "#{pane_title}") == title
    assert "owned" not in hostile.tmux("show-buffer")
