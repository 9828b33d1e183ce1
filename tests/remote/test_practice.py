"""The practice cluster: reached like any node, and nothing is left of it however it dies."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from cockpit_remote.practice import Practice, PracticeError, list_left, remains, sweep

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="practice nodes need Linux"
)

OWNER = """
import sys
from cockpit_remote.practice import Practice
practice = Practice.start(nodes=1)
print(practice.directory, practice._server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def practice() -> Iterator[Practice]:
    with Practice.start(nodes=2) as practice:
        yield practice


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[str]]:
    """Another process that has started a practice cluster of its own."""
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        yield owner
        owner.kill()


def config(practice: Practice) -> list[str]:
    return [str(practice.ssh_config)]


def settings(practice: Practice) -> dict[str, Any]:
    return tomllib.loads(practice.config.read_text())


async def run(practice: Practice, command: str, node: str = "demo1") -> str:
    async with asyncssh.connect(node, config=config(practice)) as connection:
        return str((await connection.run(command, check=True)).stdout)


async def until(condition: Callable[[], bool], limit_s: float = 20.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.02)


async def start_detached(practice: Practice) -> None:
    """A supervisor's way: a session of its own, its child with an environment of its own."""
    await run(practice, "setsid sh -c 'env -i sleep 600; :' </dev/null >/dev/null 2>&1 &")
    await until(lambda: len(remains.find(practice.directory)) == 2)


def commands(directory: Path) -> list[str]:
    """The names of its living processes."""
    pids = [process.pid for process in remains.find(directory)]
    return sorted(Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids)


async def test_each_node_has_a_home_and_an_environment_of_its_own(practice: Practice) -> None:
    told = (await run(practice, "pwd; env", "demo2")).splitlines()
    home = practice.directory / "demo2" / "home"
    assert told[0] == str(home)
    environment = dict(line.split("=", 1) for line in told[1:])
    assert environment["HOME"] == str(home)
    assert environment["COCKPIT_NODE_LOCKS"] == str(practice.directory / "demo2" / "locks")
    assert environment["COCKPIT_NODE_SIMULATED_GPUS"] == "2"
    assert environment["SSH_CONNECTION"].split()[::2] == ["127.0.0.1", "127.0.0.1"]
    assert "XDG_RUNTIME_DIR" not in environment


async def test_the_configuration_names_every_node(practice: Practice) -> None:
    told = settings(practice)
    assert told["cluster"]["name"].startswith("practice-")
    assert list(told["nodes"]) == ["demo1", "demo2"]
    assert told["nodes"]["demo1"]["python"] == sys.executable
    state = Path(told["nodes"]["demo1"]["state_dir"])
    assert state.is_relative_to(practice.directory / "demo1" / "home")
    files = [path for path in practice.directory.iterdir() if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert practice.directory.stat().st_mode & 0o777 == 0o700


async def test_nodes_without_gpus_have_slots() -> None:
    with Practice.start(nodes=1, slots=3, gpus=0) as practice:
        told = settings(practice)
    assert told["nodes"]["demo1"]["slots"] == 3


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no OpenSSH client")
@pytest.mark.parametrize("terminal", ["-T", "-tt"])
def test_the_plain_ssh_client_gets_in(practice: Practice, terminal: str) -> None:
    command = ["ssh", terminal, "-F", str(practice.ssh_config), "demo1", "echo here; exit 3"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (3, b"here")


async def test_a_client_without_the_key_stays_out(practice: Practice) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        await asyncssh.connect(
            "demo1", config=config(practice), client_keys=[stranger], agent_path=None
        )


async def test_bytes_arrive_unchanged_both_ways(practice: Practice) -> None:
    sent = bytes(range(256)) * 20_000
    async with asyncssh.connect("demo1", config=config(practice)) as connection:
        echo = await connection.run("tee /dev/stderr", input=sent, encoding=None)
    assert isinstance(echo.stdout, bytes)
    assert isinstance(echo.stderr, bytes)
    digests = {hashlib.sha256(data).digest() for data in (sent, echo.stdout, echo.stderr)}
    assert len(digests) == 1


async def test_the_end_of_a_command_is_told(practice: Practice) -> None:
    async with asyncssh.connect("demo1", config=config(practice)) as connection:
        assert (await connection.run("exit 7")).exit_status == 7
        killed = await connection.run("kill -KILL $$")
    assert killed.exit_signal is not None
    assert killed.exit_signal[0] == "KILL"


async def test_a_channel_that_closes_ends_what_reads_from_it(practice: Practice) -> None:
    async with asyncssh.connect("demo1", config=config(practice)) as connection:
        process = await connection.create_process("echo reading; exec cat")
        assert await process.stdout.readline() == "reading\n"
        assert commands(practice.directory) == ["cat"]
    await until(lambda: not remains.find(practice.directory))


async def test_what_detached_itself_outlives_its_connection(practice: Practice) -> None:
    await start_detached(practice)
    assert commands(practice.directory) == ["sh", "sleep"]
    assert practice.close() == 0
    assert not remains.find(practice.directory)
    assert not practice.directory.exists()


async def test_closing_counts_the_runs_that_it_ended(practice: Practice) -> None:
    sleeping = "COCKPIT_RUN=01A/$attempt/demo1 sleep 600 >/dev/null 2>&1 &"
    await run(practice, f"for attempt in 1 2; do {sleeping} done")
    assert practice.close() == 1
    assert practice.close() == 0


def test_a_recorded_supervisor_without_any_mark_is_ended(practice: Practice) -> None:
    bare = subprocess.Popen(["sleep", "600"], env={})
    start = int(Path(f"/proc/{bare.pid}/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record = {"pid": bare.pid, "start": start, "boot_id": boot_id, "launcher": None}
    state = Path(settings(practice)["nodes"]["demo1"]["state_dir"])
    for attempt, content in ("1", json.dumps(record)), ("2", '{"pid": '), ("3", "[" * 60_000):
        path = state / "demo1" / "01A" / attempt / "sup.json"
        path.parent.mkdir(parents=True)
        path.write_text(content)
    practice.close()
    assert bare.wait() == -signal.SIGKILL


def test_a_recorded_pid_that_another_process_got_is_left_alone(practice: Practice) -> None:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record = {"pid": os.getppid(), "start": 1, "boot_id": boot_id}
    state = Path(settings(practice)["nodes"]["demo1"]["state_dir"])
    path = state / "demo1" / "01A" / "1" / "sup.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    assert not remains.find(practice.directory)


async def test_one_cluster_ends_without_touching_another(practice: Practice) -> None:
    await start_detached(practice)
    with Practice.start(nodes=1) as other:
        await start_detached(other)
    assert commands(practice.directory) == ["sh", "sleep"]
    assert list_left() == ()


async def test_nothing_is_left_after_its_owner_was_killed(owner: subprocess.Popen[str]) -> None:
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().split()[0])
    async with asyncssh.connect("demo1", config=[str(directory / "ssh_config")]) as connection:
        await connection.run("setsid sleep 600 </dev/null >/dev/null 2>&1 &")
        await until(lambda: commands(directory) == ["sleep"])
        owner.kill()
        await until(lambda: not directory.exists())
    assert not remains.find(directory)


async def test_the_next_start_sweeps_what_two_kills_left(owner: subprocess.Popen[str]) -> None:
    assert owner.stdout is not None
    told = owner.stdout.readline().split()
    directory, server = Path(told[0]), int(told[1])
    async with asyncssh.connect("demo1", config=[str(directory / "ssh_config")]) as connection:
        await connection.run(
            "COCKPIT_RUN=01A/1/demo1 setsid sleep 600 </dev/null >/dev/null 2>&1 &"
        )
    await until(lambda: commands(directory) == ["sleep"])
    assert list_left() == ()
    os.kill(server, signal.SIGKILL)
    owner.kill()
    await until(lambda: list_left() == (directory,))
    assert sweep() == 1
    assert list_left() == ()
    assert not remains.find(directory)


async def test_a_killed_server_is_cleaned_up_after_by_its_owner(practice: Practice) -> None:
    await start_detached(practice)
    practice._server.kill()
    practice.close()
    assert not remains.find(practice.directory)
    assert not practice.directory.exists()


def test_a_shape_out_of_range_is_refused_with_the_range() -> None:
    with pytest.raises(PracticeError, match="ask for 1 to 64"):
        Practice.start(nodes=0)


def test_a_base_that_others_can_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"cockpit-practice-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(PracticeError, match="set TMPDIR"):
        Practice.start(nodes=1)


def test_the_server_removes_no_directory_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    command = [sys.executable, "-m", "cockpit_remote.practice", str(tmp_path)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert b"is not empty" in done.stderr
    assert (tmp_path / "thesis.tex").exists()
