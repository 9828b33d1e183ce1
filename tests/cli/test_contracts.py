"""What scripts rely on: JSON on stdout, exit statuses, errors as objects; all without an engine."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.core.jobs import Checkpoint, Job, JobState, Part
from cockpit.core.request import Request
from cockpit.engine.lock import EngineLock
from tests.cli.desk import Desk

FIELDS = {
    "id", "run", "name", "user", "state", "attempt", "nodes", "ranks", "shape", "step", "reason",
    "phase", "checkpoint", "resumed_from", "values", "code", "command", "workdir", "submitted",
    "started", "ended",
}  # fmt: skip


def a_job(number: int = 1, state: JobState = JobState.RUNNING, code: int | None = None) -> Job:
    request = Request(f"RUN{number}", ("train.py",), f"job{number}", "me", 2, 2, "/work")
    parts = (Part("a", 0, ("u1", "u2"), (0, 1)), Part("b", 1, ("u3", "u4"), (0, 1)))
    return Job(number, request, state, attempt=1, parts=parts, code=code, submitted=1.0)


def test_a_job_is_queued_shown_listed_and_cancelled_without_an_engine(desk: Desk) -> None:
    command = ("--", "python", "train.py", "--json")
    queued = desk.run("submit", "-N", "2", "-G", "4", "--name", "llama", "--json", *command)
    assert (queued.status, queued.json["id"]) == (0, 1)
    assert "no engine is running, so it waits: start `cockpit`" in queued.err
    shown = desk.run("show", "1", "--json")
    assert set(shown.json) == FIELDS
    assert shown.json["state"] == "pending"
    assert shown.json["reason"].startswith("EngineDown")
    assert (shown.json["shape"], shown.json["ranks"]) == ("2x4", 8)
    assert shown.json["command"] == ["python", "train.py", "--json"]
    assert shown.json["run"] == queued.json["run"]
    assert [row["id"] for row in desk.run("ps", "--json").lines] == [1]
    cancelled = desk.run("cancel", "1", "--yes", "--json")
    assert (cancelled.status, cancelled.json["ordered"]) == (0, "cancel")
    assert set(cancelled.json) == FIELDS | {"ordered"}
    with desk.store() as store:
        assert [order.kind for order in store.orders()] == ["submit", "cancel"]


def test_a_full_record_and_odd_figures_are_json(desk: Desk) -> None:
    full = replace(
        a_job(),
        values={"loss": float("nan"), "lr": float("inf"), "ok": 1.5},
        checkpoint=Checkpoint(4, "/c/4"),
        resume=Checkpoint(2, "/c/2"),
    )
    desk.write(full)
    found = desk.run("show", "1", "--json").json
    assert found["values"] == {"loss": None, "lr": None, "ok": 1.5}
    assert found["checkpoint"] == {"step": 4, "path": "/c/4"}
    assert found["resumed_from"] == {"step": 2, "path": "/c/2"}
    assert found["nodes"] == ["a", "b"]


@pytest.mark.parametrize(
    "words",
    [
        ("wait", "1", "7"),
        ("cancel", "7", "--yes"),
        ("restart", "7"),
        ("show",),
        ("dance",),
        ("submit", "--env", "X", "--", "t.py"),
        ("submit", "--name", "../x", "--", "t.py"),
        ("submit", "-N", "0", "--", "t.py"),
        ("submit", "--", "-x"),
        ("--ssh-config", "/nowhere", "ps"),
        ("-c", "/nowhere/cockpit.toml", "ps"),
    ],
)
def test_what_the_cockpit_cannot_do_is_one_sentence_and_status_2(
    desk: Desk, words: tuple[str, ...]
) -> None:
    at = words.index("--") if "--" in words else len(words)
    scripted = desk.start(*words[:at], "--json", *words[at:])
    plain = desk.run(*words)
    assert plain.status == 2
    assert plain.out == ""
    assert plain.err.startswith("cockpit: ")
    assert "Traceback" not in plain.err
    told = json.loads(scripted.communicate(timeout=60)[0])
    assert (scripted.returncode, list(told)) == (2, ["error"])


def test_nothing_to_configure_from_says_how_to_begin(desk: Desk) -> None:
    (desk.root / "cockpit.toml").unlink()
    answer = desk.run("ps")
    assert answer.status == 2
    assert "cockpit init" in answer.err
    assert "cockpit demo" in answer.err


def test_a_mistake_in_the_inventory_is_said_with_its_line(desk: Desk) -> None:
    (desk.root / "cockpit.toml").write_text("[nodes.a]\nadress = 'x'\n")
    answer = desk.run("ps", "--json")
    assert answer.status == 2
    assert "line 2" in answer.json["error"]


def test_the_inventory_is_found_from_below(desk: Desk) -> None:
    below = desk.root / "a" / "b"
    below.mkdir(parents=True)
    assert desk.run("ps", "--json", cwd=below).status == 0


@pytest.mark.parametrize(
    ("codes", "status"), [((0,), 0), ((0, 3, 4), 3), ((137,), 137), ((130, 0), 130)]
)
def test_wait_ends_with_the_code_of_the_first_that_failed(
    desk: Desk, codes: tuple[int, ...], status: int
) -> None:
    states = {0: JobState.COMPLETED, 130: JobState.CANCELLED}
    numbered = list(enumerate(codes, 1))
    desk.write(*(a_job(n, states.get(code, JobState.FAILED), code) for n, code in numbered))
    answer = desk.run("wait", "--json", *(str(number) for number, _ in numbered))
    assert answer.status == status
    assert [row["code"] for row in answer.lines] == list(codes)


def test_wait_gives_up_with_124_and_says_how_it_stands(desk: Desk) -> None:
    desk.write(a_job())
    answer = desk.run("wait", "1", "--timeout", "0.2")
    assert (answer.status, answer.out) == (124, "")
    assert "job 1 is still running" in answer.err


def test_wait_sees_what_an_engine_writes_meanwhile(desk: Desk) -> None:
    desk.write(a_job())
    waiting = desk.start("wait", "1", "--json")
    assert waiting.stderr is not None
    assert "no engine is running" in waiting.stderr.readline()
    desk.write(a_job(1, JobState.FAILED, 9))
    waiting.communicate(timeout=60)
    assert waiting.returncode == 9


def test_cancel_asks_and_says_how_to_answer_where_nobody_can(desk: Desk) -> None:
    desk.write(a_job())
    answer = desk.run("cancel", "1")
    assert answer.status == 2
    assert "--yes" in answer.err
    with desk.store() as store:
        assert store.orders() == []


def test_cancelling_what_is_over_is_no_error(desk: Desk) -> None:
    desk.write(a_job(1, JobState.COMPLETED, 0))
    answer = desk.run("cancel", "1", "--yes")
    assert answer.status == 0
    assert "job 1 is over already: completed" in answer.err


def test_all_or_none_are_cancelled_where_one_does_not_exist(desk: Desk) -> None:
    desk.write(a_job())
    assert desk.run("cancel", "1", "2", "--yes").status == 2
    with desk.store() as store:
        assert store.orders() == []


def test_a_restart_is_ordered_as_it_was_asked_for(desk: Desk) -> None:
    desk.write(a_job(1, JobState.FAILED, 1))
    path = "/c/step-00000040"
    assert desk.run("restart", "1", "--from", path, "--json").json["ordered"] == "restart"
    with desk.store() as store:
        (order,) = store.orders()
    assert order.body == f'{{"step": 40, "path": "{path}"}}'


def test_what_never_fits_is_refused_once_every_node_was_seen(desk: Desk) -> None:
    assert desk.run("submit", "-N", "3", "--", "t.py").status == 0
    with desk.store() as store, store.transaction():
        store.save_capacity("a", 8, "gpu")
        store.save_capacity("b", 4, "gpu")
    answer = desk.run("submit", "-N", "2", "-G", "8", "--json", "--", "t.py")
    assert answer.status == 2
    assert "NeverFits" in answer.json["error"]
    assert "1x8 is all it has" in answer.json["error"]


def test_a_typed_torchrun_gives_the_shape_and_options_win(desk: Desk) -> None:
    torchrun = ("--", "torchrun", "--nnodes=2", "--nproc_per_node", "4", "train.py")
    desk.run("submit", *torchrun)
    desk.run("submit", "-G", "2", *torchrun)
    assert [row["shape"] for row in desk.run("ps", "--json").lines] == ["2x4", "2x2"]


def test_foreign_text_cannot_move_the_terminal(desk: Desk) -> None:
    desk.write(replace(a_job(), reason="\x1b]0;evil\x07\x9b2J"))
    for words in (("ps",), ("show", "1")):
        out = desk.run(*words).out
        assert "␛]0;evil" in out
        assert not any(ord(char) < 32 and char != "\n" for char in out)


def test_a_broken_order_of_another_program_does_not_break_the_list(desk: Desk) -> None:
    with desk.store() as store:
        store.submit("u", 1.0, Request("R", ("t.py",), "job", "me"))
        with store.transaction():
            store._db.execute("UPDATE orders SET body = 'null'")
    assert desk.run("ps", "--json").out == ""


def test_a_store_of_a_newer_cockpit_is_one_sentence(desk: Desk) -> None:
    with desk.store() as store:
        store._db.execute("PRAGMA user_version = 99")
    answer = desk.run("ps", "--json")
    assert answer.status == 2
    assert "update this cockpit" in answer.json["error"]


def test_a_state_directory_that_others_can_write_is_refused(desk: Desk) -> None:
    desk.paths.make()
    desk.paths.root.chmod(0o777)
    answer = desk.run("ps")
    assert answer.status == 2
    assert "chmod 700" in answer.err


def test_only_one_engine_runs_and_the_second_says_which(desk: Desk) -> None:
    desk.paths.make()
    lock = EngineLock(desk.paths.lock)
    assert lock.acquire()
    try:
        answer = desk.run("daemon", "--json")
        assert desk.run("submit", "--", "t.py").err == ""
    finally:
        lock.release()
    assert answer.status == 2
    assert "runs" in answer.json["error"]


def test_a_screen_needs_a_terminal(desk: Desk) -> None:
    answer = desk.run()
    assert answer.status == 2
    assert "needs a terminal" in answer.err


def test_nodes_that_do_not_answer_are_status_255(desk: Desk, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text("Host *\n  HostName 127.0.0.1\n  Port 1\n  UserKnownHostsFile /dev/null\n")
    answer = desk.run("--ssh-config", str(config), "nodes", "--json")
    assert answer.status == 255
    assert {row["node"]: row["link"] for row in answer.lines} == {
        "a": "unreachable",
        "b": "unreachable",
    }
    assert all(row["error"] for row in answer.lines)


def test_answers_that_nobody_can_take_end_in_a_sentence(desk: Desk) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "cockpit", "ps"],
            cwd=desk.root,
            env=desk.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    assert "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_two_inventories_of_one_name_do_not_share_a_queue(desk: Desk) -> None:
    assert desk.run("ps").status == 0
    other = desk.root / "other"
    other.mkdir()
    (other / "cockpit.toml").write_text((desk.root / "cockpit.toml").read_text())
    refused = desk.run("ps", cwd=other)
    assert refused.status == 2
    assert "has a cluster of the same name" in refused.err
    (desk.root / "cockpit.toml").rename(desk.root / "moved.toml")
    assert desk.run("ps", cwd=other).status == 0


def test_who_asks_for_the_engine_keeps_none_from_starting(desk: Desk) -> None:
    desk.paths.make()
    lock = EngineLock(desk.paths.lock)
    assert lock.acquire()
    lock.release()
    reader = os.open(desk.paths.lock, os.O_RDWR)
    fcntl.flock(reader, fcntl.LOCK_SH)
    timer = threading.Timer(0.01, os.close, [reader])
    timer.start()
    assert lock.acquire()
    timer.join()
    lock.release()
