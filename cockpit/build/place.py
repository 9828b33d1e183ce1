"""One cluster as a process meets it: its inventory, its state directory, its SSH configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cockpit.config import Config
from cockpit.core.cluster import Cluster, Defaults, Node
from cockpit.engine.paths import StatePaths
from cockpit.engine.store import Store


@dataclass(frozen=True, slots=True)
class Place:
    config: Config
    ssh_config: Path | None
    """None is the user's own ~/.ssh/config."""
    paths: StatePaths

    @classmethod
    def of(cls, config: Config, ssh_config: Path | None) -> Place:
        """Make the state directory if it is not there. Raises StateError."""
        paths = StatePaths.of(config.name)
        paths.make()
        paths.belong_to(config.path)
        return cls(config, ssh_config, paths)

    def store(self) -> Store:
        """Raises StoreError."""
        return Store(self.paths.store)

    def cluster(self) -> Cluster:
        """The inventory, before anything was heard of it."""
        nodes = {
            node.name: Node(
                node.name,
                Defaults(node.python, node.workdir, node.env, node.interface is not None),
            )
            for node in self.config.nodes
        }
        return Cluster(name=self.config.name, nodes=nodes)
