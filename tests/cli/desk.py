"""A desk with a cockpit.toml: commands run as people run them, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.core.jobs import Job
from cockpit.engine.paths import StatePaths
from cockpit.engine.store import Store

REPOSITORY = Path(__file__).parents[2]
INVENTORY = '[cluster]\nname = "lab"\n[nodes.a]\n[nodes.b]\n'


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The only line of stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Desk:
    def __init__(self, root: Path, inventory: str = INVENTORY) -> None:
        self.root = root
        self.paths = StatePaths(root / "state" / "cockpit" / "lab")
        (root / "cockpit.toml").write_text(inventory)

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(str(REPOSITORY / part) for part in (".", "remote", "trainer"))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("COCKPIT")}
        own = {"XDG_STATE_HOME": str(self.root / "state"), "HOME": str(self.root)}
        return {**kept, **own, "XDG_CONFIG_HOME": str(self.root / "config"), "PYTHONPATH": path}

    def start(self, *words: str, code: str = "", cwd: Path | None = None) -> subprocess.Popen[str]:
        program = ["-c", code] if code else ["-m", "cockpit"]
        return subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=cwd or self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, code: str = "", cwd: Path | None = None) -> Answer:
        """The command with these words, or a program of the test's own."""
        process = self.start(*words, code=code, cwd=cwd)
        out, err = process.communicate(timeout=60)
        return Answer(process.returncode, out, err)

    def store(self) -> closing[Store]:
        self.paths.make()
        return closing(Store(self.paths.store))

    def write(self, *jobs: Job) -> None:
        """As an engine would have."""
        with self.store() as store, store.transaction():
            store.save_jobs(jobs)
            for order in store.orders():
                store.consume(order)
