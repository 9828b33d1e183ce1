"""Which cluster a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.cli.say import Failure
from cockpit.config import Config, find, load

if TYPE_CHECKING:
    from cockpit.build.place import Place


@dataclass(frozen=True, slots=True)
class Setting:
    """The options that stand before the verb."""

    config_path: Path | None
    ssh_config: Path | None

    def config(self) -> Config:
        """Raises ConfigError or Failure."""
        try:
            path = self.config_path or find(Path.cwd())
        except FileNotFoundError as error:
            raise Failure("this directory is gone; change to another, or name -c FILE") from error
        if path is None:
            raise Failure(
                "there is no cockpit.toml here, above, or in ~/.config/cockpit; write one with "
                "`cockpit init HOST...`, or try `cockpit demo`"
            )
        return load(path)

    def place(self) -> Place:
        """The cluster's state on this machine. Raises ConfigError, StateError or Failure."""
        from cockpit.build.place import Place

        if self.ssh_config is not None and not self.ssh_config.is_file():
            raise Failure(f"there is no SSH configuration at {self.ssh_config}")
        return Place.of(self.config(), self.ssh_config)
