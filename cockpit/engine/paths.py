"""Every file that the cockpit keeps on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class StateError(Exception):
    """The state directory cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class StatePaths:
    """State of one cluster, so that two inventories never share a queue."""

    root: Path

    @classmethod
    def of(cls, cluster: str, environ: Mapping[str, str] = os.environ) -> StatePaths:
        """A relative XDG_STATE_HOME is ignored, as the XDG base directory specification says."""
        base = Path(environ.get("XDG_STATE_HOME", ""))
        home = base if base.is_absolute() else Path.home() / ".local" / "state"
        return cls(home / "cockpit" / cluster)

    @property
    def store(self) -> Path:
        return self.root / "store.sqlite"

    @property
    def lock(self) -> Path:
        """Held by the one process that runs the engine; holds its pid as text."""
        return self.root / "engine.lock"

    @property
    def log(self) -> Path:
        """What an engine has to say behind a screen."""
        return self.root / "engine.log"

    @property
    def inventory(self) -> Path:
        """Which cockpit.toml this state belongs to, as text."""
        return self.root / "inventory"

    def belong_to(self, inventory: Path) -> None:
        """Two inventories never share a queue. Raises StateError.

        An inventory that is gone was moved, and leaves its state to the one that has its name now.
        """
        mine = str(inventory.resolve())
        owner = self.inventory.read_text() if self.inventory.exists() else ""
        if owner == mine:
            return
        if owner and Path(owner).is_file():
            raise StateError(
                f"{owner} has a cluster of the same name, with a queue of its own; "
                f"give [cluster] in {mine} another name"
            )
        self.inventory.write_text(mine)

    def spool(self, run: str, attempt: int) -> Path:
        return self.root / "spool" / run / str(attempt)

    def make(self) -> None:
        """Create the root, private to its owner. Raises StateError."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.root.stat()
        except OSError as error:
            raise StateError(
                f"cannot make {self.root}: {error.strerror}; set XDG_STATE_HOME"
            ) from error
        if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise StateError(
                f"{self.root} can be written by others; run `chmod 700 {self.root}` "
                "or set XDG_STATE_HOME to a directory of your own"
            )
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            self.root.chmod(0o700)
