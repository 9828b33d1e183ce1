"""How runs start: once, all or nothing, and with a sentence where they may not."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import shutil
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cockpit_node import claim as claims
from cockpit_node import leases, runs
from cockpit_node.paths import RunPaths
from cockpit_node.processes import lives, process
from cockpit_node.refused import Refused
from tests.node.rig import Rig, kill, until

COUNTS = ["bash", "-c", "echo started >> starts; sleep 600"]


def test_forty_orders_to_prepare_and_go_start_one_process(rig: Rig) -> None:
    spec = rig.spec(COUNTS, units=["slot-0"])

    def order(_: int) -> None:
        runs.prepare(rig.node, spec)
        runs.go(rig.node, spec["run"], spec["attempt"], None)

    with ThreadPoolExecutor(40) as pool:
        assert list(pool.map(order, range(40))) == [None] * 40
    until("it has started", lambda: rig.text("starts"))
    runs.abort(rig.node, spec["run"], spec["attempt"], spec["claim"])
    assert rig.text("starts") == "started\n"


def test_of_two_runs_that_want_one_slot_exactly_one_gets_it(rig: Rig) -> None:
    def order(name: str) -> str:
        spec = rig.spec(["sleep", "600"], run=name, name=name, units=["slot-1", "slot-0"])
        try:
            runs.prepare(rig.node, spec)
        except Refused as refusal:
            return f"{refusal.code}, again {refusal.retry}: {refusal.message}"
        return name

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(order, ["01FIRST", "01SECOND"]), key=len)
    winner, refusal = said
    assert refusal.startswith(f"Busy, again True: slot-0 is used by me's job {winner} since ")
    assert {unit: one.run for unit, one in leases.holders().items()} == {
        "slot-0": winner,
        "slot-1": winner,
    }
    assert [state["run"] for state in runs.runs(rig.node)] == [winner]
    runs.abort(rig.node, winner, 1, "1.1")
    assert leases.holders() == {}


def test_without_the_order_to_go_everything_is_undone(rig: Rig) -> None:
    spec = rig.spec(["sleep", "600"], units=["slot-0"], confirm_s=0.5)
    runs.prepare(rig.node, spec)
    paths = rig.node.paths(spec["run"], spec["attempt"])
    assert rig.look(paths)["state"] == "prepared"
    until("it is undone", lambda: not os.path.exists(paths.run_directory))
    until("the slot is free", lambda: not leases.holders())
    with pytest.raises(Refused, match="undone") as refused:
        runs.go(rig.node, spec["run"], spec["attempt"], None)
    assert refused.value.retry


def test_an_aborted_start_never_comes_back_but_the_next_one_may(rig: Rig) -> None:
    spec = rig.spec(["sleep", "600"])
    runs.abort(rig.node, spec["run"], spec["attempt"], spec["claim"])
    with pytest.raises(Refused, match="aborted before"):
        runs.prepare(rig.node, spec)
    again = {**spec, "claim": "1.2"}
    runs.prepare(rig.node, again)
    runs.abort(rig.node, spec["run"], spec["attempt"], spec["claim"])
    with pytest.raises(Refused, match="still held here") as refused:
        runs.prepare(rig.node, {**spec, "claim": "1.3"})
    assert (refused.value.code, refused.value.retry) == ("Busy", True)
    runs.abort(rig.node, spec["run"], spec["attempt"], "1.2")
    assert runs.runs(rig.node) == []


def test_a_start_that_is_undone_twice_at_once_is_over_for_both(rig: Rig) -> None:
    paths = prepared(rig)
    supervisor = rig.supervisor(paths)
    # One that is held up would leave whoever waits for its word waiting.
    os.kill(supervisor.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        undoing = pool.submit(runs.abort, rig.node, paths.run, paths.attempt, "1.1")
        until("it is under way", lambda: os.path.exists(paths.abort))
        shutil.rmtree(paths.directory)
        undoing.result(timeout=10)
    os.kill(supervisor.pid, signal.SIGCONT)
    until("the supervisor has gone", lambda: not lives(supervisor))
    assert leases.holders() == {}


def test_a_supervisor_that_is_slow_to_start_lets_the_job_wait(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = rig.spec(["sleep", "600"])
    paths = rig.node.paths(spec["run"], spec["attempt"])
    claims.claim(paths, spec, "tests", "me")
    starting = os.open(paths.directory, os.O_RDONLY)
    fcntl.flock(starting, fcntl.LOCK_EX)
    monkeypatch.setattr(importlib.import_module("cockpit_node.prepare"), "PREPARE_S", 0.2)
    with pytest.raises(Refused) as refused:
        runs.prepare(rig.node, spec)
    assert (refused.value.code, refused.value.retry) == ("Fault", True)
    os.close(starting)
    runs.abort(rig.node, paths.run, paths.attempt, "1.1")
    assert runs.runs(rig.node) == []


def prepared(rig: Rig) -> RunPaths:
    """A start that holds a slot and has not been told to go."""
    spec = rig.spec(["sleep", "600"], units=["slot-0"])
    runs.prepare(rig.node, spec)
    return rig.node.paths(spec["run"], spec["attempt"])


def test_torchrun_gets_a_port_that_nobody_else_can_take(rig: Rig) -> None:
    words = {"launcher": "torchrun", "port_at": 3, "program": None}
    argv = ["bash", "-c", 'echo "port $0"; sleep 600', "<port>"]
    spec = rig.spec(argv, **words)
    port = runs.prepare(rig.node, spec)
    assert port is not None
    with contextlib.closing(socket.socket()) as sock, pytest.raises(OSError, match="in use"):
        sock.bind(("127.0.0.1", port))
    runs.go(rig.node, spec["run"], spec["attempt"], port)
    paths = rig.node.paths(spec["run"], spec["attempt"])
    until("it has said its port", lambda: rig.stream(paths, "launcher.0") == f"port {port}\n")
    with contextlib.closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", port))
    runs.abort(rig.node, spec["run"], spec["attempt"], spec["claim"])


def refusal_of(rig: Rig, **fields: Any) -> Refused:
    argv = fields.pop("argv", ["sleep", "600"])
    with pytest.raises(Refused) as refused:
        runs.prepare(rig.node, rig.spec(argv, **fields))
    assert runs.runs(rig.node) == []
    assert rig.marked() == []
    return refused.value


def test_what_is_missing_is_named_before_anything_starts(rig: Rig) -> None:
    assert refusal_of(rig, workdir="/nowhere").code == "NoWorkdir"
    assert "nowhere.py" in refusal_of(rig, script="nowhere.py").message
    assert refusal_of(rig, argv=["no-such-program"]).code == "NoProgram"
    assert refusal_of(rig, setup="export PATH=/nowhere:$PATH\n", argv=["gone"]).code == "NoProgram"
    setup = refusal_of(rig, setup="echo cannot load cuda/99 >&2\nfalse")
    assert (setup.code, "cannot load cuda/99" in setup.message) == ("SetupFailed", True)
    assert refusal_of(rig, units=["../slot"]).code == "BadSpec"
    assert "unknown_key" in refusal_of(rig, unknown_key=1).message


def test_a_python_without_torch_is_named_with_its_path(rig: Rig) -> None:
    bare = rig.work / "bin"
    bare.mkdir()
    (bare / "python").symlink_to("/usr/bin/python3")
    argv = ["python", "-S", "-m", "torch.distributed.run"]
    words = {"launcher": "torchrun", "setup": f"export PATH={bare}:$PATH", "port_at": 3}
    refusal = refusal_of(rig, argv=argv, env={"PYTHONPATH": ""}, **words)
    assert refusal.code == "NoTorch"
    assert "-m pip install torch" in refusal.message


def test_setup_lines_run_before_the_job_and_leave_no_process_of_their_own(rig: Rig) -> None:
    hostile = "a 'b\" $HOME\n*"
    words = 'printf "%s|%s|%s" "$0" "$GREETING" "$FROM_SETUP"'
    spec = rig.spec(
        ["bash", "-c", words, hostile],
        setup="export FROM_SETUP=yes",
        env={"GREETING": "grüß \x01 \udcff"},
    )
    paths = rig.start(spec)
    rig.ended(paths)
    with open(f"{paths.log}/0.stdout", "rb") as file:
        assert file.read() == f"{hostile}|grüß \x01 ".encode() + b"\xff|yes"


def test_what_setup_lines_start_in_the_background_ends_with_each_question(rig: Rig) -> None:
    left = "(exec sleep 4242 & echo $! >> pids; setsid sleep 4243 & echo $! >> pids) & wait; true"
    refusal = refusal_of(rig, argv=["no-such-program"], setup=f"{left}\ndisown -a")
    assert refusal.code == "NoProgram"
    # One knows nothing of the mark, the other has left the session.
    setup = f"env -i {sys.executable} -c 'import time; time.sleep(600)' & echo $! >> pids\nfalse"
    assert refusal_of(rig, setup=setup).code == "SetupFailed"
    pids = [int(line) for line in rig.text("pids").split()]
    assert len(pids) == 3
    assert [pid for pid in pids if (row := process(pid)) is not None and row.lives] == []


def test_no_word_of_the_setup_lines_shows_among_the_words_of_a_process(rig: Rig) -> None:
    setup = "SECRET=hunter2\ntouch waiting; while [ ! -e go ]; do sleep 0.05; done"
    (rig.work / "go").touch()
    spec = rig.spec(["sh", "-c", 'echo "$1-${SECRET:-gone}"', "sh", "a b"], setup=setup)
    runs.prepare(rig.node, spec)
    (rig.work / "go").unlink()
    (rig.work / "waiting").unlink()
    runs.go(rig.node, spec["run"], spec["attempt"], None)
    paths = rig.node.paths(spec["run"], spec["attempt"])
    until("the setup lines run", (rig.work / "waiting").exists)
    pids = rig.marked()
    words = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
    assert any(paths.setup.encode() in line for line in words)
    assert not any(b"hunter2" in line for line in words)
    assert os.stat(paths.setup).st_mode & 0o777 == 0o600
    (rig.work / "go").touch()
    rig.ended(paths)
    assert rig.stream(paths, "0.stdout") == "a b-gone\n"


def test_a_program_that_cannot_be_started_ends_as_its_exit_record_says(rig: Rig) -> None:
    (rig.work / "job").write_bytes(b"\x7fELF nonsense")
    (rig.work / "job").chmod(0o755)
    spec = rig.spec(["./job"])
    runs.prepare(rig.node, spec)
    with pytest.raises(Refused, match=r"\./job could not be started"):
        runs.go(rig.node, spec["run"], spec["attempt"], None)


def test_a_gpu_that_someone_computes_on_is_not_given(rig: Rig) -> None:
    foreign = {"GPU-1": [{"pid": 7, "user": "eve", "memory_bytes": 1, "run": None}], "GPU-2": []}
    rig.node.gpu_processes = lambda: foreign
    assert refusal_of(rig, units=["GPU-3"]).code == "NoUnit"
    refusal = refusal_of(rig, units=["GPU-2", "GPU-1"])
    assert (refusal.code, refusal.retry) == ("Foreign", True)
    assert "eve's process 7 outside cockpit" in refusal.message
    assert leases.holders() == {}
    runs.prepare(rig.node, rig.spec(["sleep", "600"], units=["GPU-2"], claim="1.2"))
    runs.abort(rig.node, "01RUN", 1, "1.2")


def test_a_slot_that_an_unsupervised_run_still_uses_is_not_given(rig: Rig) -> None:
    paths = rig.start(rig.spec(["sleep", "600"], run="01FIRST", units=["slot-0"]))
    kill(rig.supervisor(paths))
    assert leases.holders() == {}
    with pytest.raises(Refused, match="lost its supervisor but still uses slot-0") as refused:
        runs.prepare(rig.node, rig.spec(["sleep", "600"], units=["slot-0", "slot-1"]))
    assert (refused.value.code, refused.value.retry) == ("Busy", True)
    runs.abort(rig.node, "01FIRST", 1, "1.1")
    runs.prepare(rig.node, rig.spec(["sleep", "600"], units=["slot-0", "slot-1"]))
    runs.abort(rig.node, "01RUN", 1, "1.1")
