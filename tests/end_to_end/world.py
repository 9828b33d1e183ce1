"""An operator's machine for one test: cockpit.toml, a state directory, the engine, the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.disk import HOME
from tests.cluster.lab import Lab
from tests.cluster.node import LabNode
from tests.cluster.wait import until

PROJECT = f"{HOME}/project"
"""Work directory of every job, on every node."""
PATIENCE_S = 90.0
"""For what waits for torch, which all ranks import at once on few cores."""
ASK_S = 0.3
"""Between two commands that ask the same, so that asking does not slow what it waits for."""
_NODE = """
[nodes.{name}]
slots = {slots}
python = "{python}"
workdir = "{workdir}"
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What one command ended with."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Its JSON objects, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(slots=True)
class World:
    """Drives the cockpit as a user does, over one lab; nothing here is the product's own word."""

    lab: Lab
    directory: Path
    slots: int = 2
    """CPU slots of every node."""
    config: Path = field(init=False)
    _daemons: list[subprocess.Popen[bytes]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.config = self.directory / "cockpit.toml"
        self.write_config()
        for node in self.lab.nodes.values():
            node.write(f"{PROJECT}/README", "code of the jobs\n")

    @property
    def nodes(self) -> Sequence[LabNode]:
        return list(self.lab.nodes.values())

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.directory),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": os.environ.get("TERM", "dumb"),
        }

    @property
    def argv(self) -> list[str]:
        """The words before the verb."""
        ssh = ["--ssh-config", str(self.lab.ssh_config)]
        return [sys.executable, "-m", "cockpit", "--config", str(self.config), *ssh]

    def write_config(self, slots: int | None = None, **more: str) -> None:
        """The inventory of the lab; `more` are lines for the table of the node of that name."""
        self.slots = slots or self.slots
        text = 'version = 1\n[cluster]\nname = "lab"\n'
        for name in self.lab.nodes:
            text += _NODE.format(
                name=name, slots=self.slots, python=sys.executable, workdir=PROJECT
            )
            text += more.get(name, "") + "\n"
        self.config.write_text(text)

    def put(self, name: str, text: str, *nodes: str) -> None:
        """Write a file of the project on these nodes, on all if none is named."""
        for node in self.nodes:
            if not nodes or node.name in nodes:
                node.write(f"{PROJECT}/{name}", text)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that goes on beside the test."""
        return subprocess.Popen(
            [*self.argv, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env=self.environment,
        )

    def say(self, *words: str, timeout_s: float = 60.0) -> Said:
        """Run one command to its end."""
        with self.start(*words) as command:
            try:
                out, err = command.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired as error:
                command.kill()
                raise AssertionError(f"cockpit {' '.join(words)} did not end: {error}") from error
        return Said(command.returncode, out, err)

    def start_daemon(self) -> None:
        """Returns once the engine holds its lock."""
        with (self.directory / "daemon.log").open("ab") as log:
            daemon = subprocess.Popen(
                [*self.argv, "daemon", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.directory,
                env=self.environment,
            )
        self._daemons.append(daemon)
        assert daemon.stdout is not None
        with daemon.stdout as answers:
            assert answers.readline(), f"the daemon did not start:\n{self.daemon_log}"

    def signal_daemon(self, signum: signal.Signals) -> None:
        self._daemons[-1].send_signal(signum)

    def end_daemon(self, signum: signal.Signals = signal.SIGKILL) -> int:
        """Signal the engine and return its exit status once it is gone."""
        daemon = self._daemons.pop()
        daemon.send_signal(signum)
        return daemon.wait(30.0)

    @property
    def daemon_log(self) -> str:
        log = self.directory / "daemon.log"
        return log.read_text(errors="replace") if log.exists() else "no daemon was started"

    def close(self) -> None:
        """End what a test left running."""
        for job in self.jobs():
            if job["code"] is None and self._daemons:
                self.say("cancel", str(job["id"]), "--yes", "--grace", "0", "--lost")
                self.say("wait", str(job["id"]), "--timeout", "30")
        for daemon in self._daemons:
            daemon.terminate()
            daemon.wait(30.0)

    def submit(self, *words: str) -> int:
        """The number of the new job; `words` are options, `--` and the command."""
        said = self.say("submit", "--json", *words)
        assert said.status == 0, said
        number: int = said.records[0]["id"]
        return number

    def jobs(self) -> list[dict[str, Any]]:
        said = self.say("ps", "--all", "--json")
        assert said.status == 0, said
        return said.records

    def job(self, number: int) -> dict[str, Any]:
        said = self.say("show", str(number), "--json")
        assert said.status == 0, said
        return said.records[0]

    def until_told(
        self, condition: Callable[[], object], what: str, patience_s: float = 30
    ) -> None:
        """As `until`, for a condition that runs a command."""
        until(condition, what, patience_s, ASK_S)

    def until_state(
        self, number: int, *states: str, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """The job once it stands in one of `states`."""
        seen: dict[str, Any] = {}

        def stands() -> bool:
            seen.update(self.job(number))
            return seen["state"] in states

        try:
            until(stands, f"job {number} to be {' or '.join(states)}", patience_s, ASK_S)
        except TimeoutError as error:
            told = self.say("show", str(number)).out
            raise AssertionError(f"{error}\n{told}\n{self.daemon_log[-4000:]}") from error
        return seen

    def ended(self, number: int, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The job once it is over."""
        said = self.say(
            "wait", str(number), "--timeout", str(patience_s), timeout_s=patience_s + 30
        )
        told = self.say("show", str(number)).out if said.status == 124 else ""
        assert said.status != 124, f"{said}\n{told}\n{self.daemon_log[-4000:]}"
        return self.job(number)

    def lines(self, number: int, *options: str) -> list[str]:
        """What `logs` prints."""
        said = self.say("logs", str(number), *options)
        assert said.status == 0, said
        return said.out.splitlines()

    def spool(self, job: Mapping[str, Any], attempt: int | None = None) -> Path:
        """Where this machine keeps what an attempt printed."""
        return self.directory / f"state/cockpit/lab/spool/{job['run']}/{attempt or job['attempt']}"

    def assert_collected(self, job: Mapping[str, Any]) -> None:
        """Every byte that the job's attempt printed is here, or soon is."""
        try:
            until(lambda: not self._uncollected(job), "all bytes", every_s=ASK_S)
        except TimeoutError:
            assert not self._uncollected(job)

    def _uncollected(self, job: Mapping[str, Any]) -> list[str]:
        """Streams of the job's attempt whose bytes here are not those of the node's own file."""
        table = (self.spool(job) / "streams.jsonl").read_text().splitlines()
        kept = {entry["name"]: entry for entry in map(json.loads, table)}
        different = []
        for name in job["nodes"]:
            for stream, path in _streams(self.lab.nodes[name], job).items():
                entry = kept.pop(stream)
                files = self.spool(job).glob(f"{entry['number']:05d}-*.log")
                ours = b"".join(file.read_bytes() for file in files)
                theirs = self.lab.nodes[name].host_path(path).read_bytes()
                if ours != theirs:
                    different.append(f"{stream} of {name}: {len(ours)} of {len(theirs)} bytes")
        return different + list(kept)

    def assert_nothing_left(self, job: Mapping[str, Any]) -> None:
        """No process of the job on any node, whatever the cockpit believes."""
        left = [f"{node.name}: {proc}" for node in self.nodes for proc in node.marked(job["run"])]
        assert not left, left


def _streams(node: LabNode, job: Mapping[str, Any]) -> dict[str, str]:
    """The node's own files of an attempt by the name of their stream."""
    table = f"*/{node.name}/{job['run']}/{job['attempt']}/ranks.json"
    found = node.run(["find", HOME, "/var/tmp", "-path", table]).stdout.split()
    assert len(found) == 1, (node.name, found)
    return {entry["name"]: entry["path"] for entry in json.loads(node.read(found[0]))["streams"]}
