"""The store: what several processes, bad files and sudden deaths may do to it."""

from __future__ import annotations

import math
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cockpit.core.jobs import (
    After,
    Checkpoint,
    Exit,
    Failure,
    Job,
    JobState,
    Part,
    PartState,
    Resume,
    Stream,
)
from cockpit.core.request import Request
from cockpit.engine.store import SCHEMA, Line, MetricRow, Store, StoreError

FULL_JOB = Job(
    id=7,
    request=Request(
        "RUN7", ("python", "-u", "träin.py", "\udcff"), "llama", "me", 2, 2, "/work", None,
        {"K": "V"}, "/py", "/venv", ("module load",), "/data", 5,
    ),
    state=JobState.COMPLETING,
    reason="b: gone",
    attempt=3,
    tries=5,
    parts=(
        Part("a", 0, ("GPU-1", "GPU-2"), (0, 1), PartState.ENDED, 29555,
             (Stream("0.stdout", 0, "stdout"),), {0: 41, 1: 42}, True,
             Exit(1, None, False, "x", Failure(1, None, "SIGKILL", "boom"), 2, True)),
        Part("b", 1, ("GPU-3", "GPU-4"), (0, 1)),
    ),
    after=After.RESTARTED,
    resume=Checkpoint(4, "/c/4"),
    wanted=Checkpoint(5, "/c/5"),
    home="a",
    checkpoint=Checkpoint(6, "/c/6"),
    step=9,
    values={"loss": 0.5, "lr": math.inf},
    phase="saving",
    code=137,
    submitted=1.0,
    started=2.0,
    ended=3.0,
    gone=False,
    grace_s=1,
    retry_at=4.0,
)  # fmt: skip


def asked(run: str) -> Request:
    return Request(run, ("train.py",), "job", "me")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path)) as opened:
        yield opened


@pytest.mark.parametrize(
    "job",
    [
        FULL_JOB,
        replace(FULL_JOB, wanted=Resume.NEWEST, resume=None, checkpoint=None, step=None),
        Job(1, asked("R")),
    ],
)
def test_a_job_is_read_as_it_was_written(store: Store, job: Job) -> None:
    with store.transaction():
        store.save_jobs([job])
    assert store.jobs()[0] == {job.id: job}


def test_a_nan_survives_in_a_job_and_in_metrics(store: Store) -> None:
    rows = [
        MetricRow(1, "loss", 1, step, 5.0, value)
        for step, value in enumerate([math.nan, math.inf, -math.inf, 1e308, 5e-324])
    ]
    with store.transaction():
        store.add_metrics([*rows, MetricRow(1, "gpu", 1, None, 6.0, 50.0)])
        store.save_jobs([replace(FULL_JOB, values={"loss": math.nan})])
    read, mark = store.metrics(1)
    assert repr([row.value for row in read[:5]]) == repr([row.value for row in rows])
    assert read[5].step is None
    assert math.isnan(store.jobs()[0][7].values["loss"])
    assert store.metrics(1, mark) == ([], mark)
    assert store.metrics(2) == ([], 0)


def test_only_what_changed_since_the_mark_is_read(store: Store) -> None:
    first, second = Job(1, asked("A")), Job(2, asked("B"))
    with store.transaction():
        store.save_jobs([first, second])
    _, mark = store.jobs()
    later = replace(first, reason="new")
    with store.transaction():
        store.save_jobs([later])
    assert store.jobs(mark)[0] == {1: later}


def test_the_same_order_twice_is_one_even_after_it_was_carried_out(store: Store) -> None:
    assert store.submit("u1", 1.0, asked("A")) == store.submit("u1", 2.0, asked("A")) == 1
    store.order("u2", 1.0, "cancel", 1)
    store.order("u2", 1.0, "cancel", 1)
    found = store.orders()
    assert [(order.kind, order.job, order.time) for order in found] == [
        ("submit", 1, 1.0),
        ("cancel", 1, 1.0),
    ]
    with store.transaction():
        for order in found:
            store.consume(order)
    store.submit("u1", 3.0, asked("A"))
    store.order("u2", 3.0, "cancel", 1)
    assert store.orders() == []


def test_a_number_is_given_once_and_never_again(store: Store) -> None:
    numbers = [store.submit(f"u{n}", 1.0, asked(f"R{n}")) for n in range(3)]
    with store.transaction():
        for order in store.orders():
            store.consume(order)
    assert [*numbers, store.submit("u9", 1.0, asked("R9"))] == [1, 2, 3, 4]


def test_a_transaction_that_fails_changes_nothing(store: Store) -> None:
    store.submit("u1", 1.0, asked("A"))
    no_text: Any = object()
    unserial = replace(FULL_JOB, phase=no_text)

    def consume_and_save() -> None:
        with store.transaction():
            store.consume(store.orders()[0])
            store.save_jobs([Job(1, asked("A")), unserial])

    with pytest.raises(TypeError):
        consume_and_save()
    assert len(store.orders()) == 1
    assert store.jobs()[0] == {}


def test_history_is_the_newest_lines_in_their_order(store: Store) -> None:
    with store.transaction():
        store.add_history(Line(float(n), n % 2, f"line {n}") for n in range(10))
        store.add_history([Line(10.0, None, "a is up")])
    assert [line.text for line in store.history(limit=2)] == ["line 9", "a is up"]
    assert [line.text for line in store.history(1, limit=2)] == ["line 7", "line 9"]


def test_what_a_node_has_and_how_far_a_stream_was_read_is_kept(path: Path, store: Store) -> None:
    with store.transaction():
        store.save_capacity("a", 4, "gpu")
        store.save_capacity("a", 8, "gpu")
        store.mark_parsed("R", 1, "0.stdout", 2**40, False)
        store.mark_parsed("R", 1, "0.stdout", 2**41, True)
    with closing(Store(path)) as other:
        assert list(other.capacity()) == [("a", 8, "gpu")]
        assert other.parsed("R", 1, "0.stdout") == (2**41, True)
        assert other.parsed("R", 2, "0.stdout") == (0, False)


def test_the_stamp_changes_when_another_process_wrote(path: Path, store: Store) -> None:
    before = store.stamp()
    assert store.stamp() == before
    with closing(Store(path)) as other:
        other.submit("u1", 1.0, asked("A"))
    assert store.stamp() != before


def test_a_store_of_a_newer_cockpit_is_refused_and_not_touched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("CREATE TABLE tomorrow (x)")
        newer.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer cockpit .* update this cockpit"):
        Store(path)
    assert path.read_bytes() == before


def filled(path: Path) -> bytes:
    with closing(Store(path)) as store, store.transaction():
        store.save_jobs(replace(FULL_JOB, id=n, request=asked(f"R{n}")) for n in range(50))
    return path.read_bytes()


@pytest.mark.parametrize(
    "kind", ["garbage", "nul", "text", "a page is missing", "half", "80 bytes"]
)
def test_a_damaged_store_is_refused_and_not_touched(path: Path, kind: str) -> None:
    whole = filled(path)
    damaged = {
        "garbage": random.Random(1).randbytes(9000),
        "nul": bytes(len(whole)),
        "text": b"jobs:\n- none\n" * 100,
        "a page is missing": whole[:-4096],
        "half": whole[: len(whole) // 2],
        "80 bytes": whole[:80],
    }[kind]
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="left as it is"):
        Store(path)
    assert path.read_bytes() == damaged


def test_a_damaged_page_is_refused_when_it_is_read(path: Path) -> None:
    whole = filled(path)
    damaged = whole[:4096] + bytes(len(whole) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(StoreError), closing(Store(path)) as store:
        store.jobs()
    assert path.read_bytes() == damaged


def test_a_job_record_that_nobody_can_read_is_named(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE jobs SET body = '{\"version\": 99}' WHERE id = 3")
        raw.commit()
    with closing(Store(path)) as store, pytest.raises(StoreError, match="job 3 cannot be read"):
        store.jobs()


def test_a_directory_in_the_place_of_the_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=str(tmp_path)):
        Store(tmp_path)


def test_a_copy_that_was_made_while_it_was_open_can_be_opened(path: Path, store: Store) -> None:
    store.submit("u1", 1.0, asked("A"))
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", path.with_name(f"copy.sqlite{suffix}"))
    with closing(Store(path.with_name("copy.sqlite"))) as copy:
        assert len(copy.orders()) == 1


def test_a_command_that_leaves_takes_nothing_from_a_screen_that_has_the_store_open_twice(
    path: Path, store: Store
) -> None:
    command = (
        "import sys; from pathlib import Path; from cockpit.engine.store import Store; "
        "store = Store(Path(sys.argv[1])); print(len(store.history())); store.close()"
    )

    def lines_seen_by_a_command() -> str:
        argv = [sys.executable, "-c", command, str(path)]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    with closing(Store(path)) as engine:
        for count in (1, 2, 3):
            with engine.transaction():
                engine.add_history([Line(1.0, None, "happened")])
            assert lines_seen_by_a_command() == f"{count}\n"
