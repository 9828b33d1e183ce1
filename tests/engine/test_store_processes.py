"""Several processes on one store, and processes that die in the middle of what they do."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cockpit.core.request import Request
from cockpit.engine import records
from cockpit.engine.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


WRITER = """
import sys
from pathlib import Path
from cockpit.core.request import Request
from cockpit.engine.store import Store
store, me = Store(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    run = f"{me}-{n}"
    number = store.submit(f"uid-{run}", 1.0, Request(run, ("t.py",), "job", "me"))
    print(run, number, flush=True)
"""
CONSUMER = """
import sys
from pathlib import Path
from cockpit.core.jobs import Job
from cockpit.engine import records
from cockpit.engine.store import Store
store = Store(Path(sys.argv[1]))
jobs, _ = store.jobs()
print("ready", flush=True)
while True:
    for order in store.orders():
        with store.transaction():
            request = records.load_request(order.body)
            seen = jobs.get(order.job, Job(order.job, request))
            store.save_jobs([Job(order.job, request, tries=seen.tries + 1)])
            store.consume(order)
"""
"""A consumer counts in `tries` how often it carried a submission out."""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen[str]) -> list[list[str]]:
    """Every whole line."""
    out, _ = process.communicate()
    return [line.split() for line in out.splitlines() if len(line.split()) == 2]


def test_processes_that_begin_at_once_all_find_a_store(path: Path) -> None:
    writers = [start(WRITER, str(path), f"w{n}", "5") for n in range(6)]
    acknowledged = [line for writer in writers for line in said(writer)]
    assert [writer.returncode for writer in writers] == [0] * 6
    assert len(acknowledged) == 30
    assert sorted(int(number) for _, number in acknowledged) == list(range(1, 31))


def test_every_order_counts_once_however_writers_and_consumers_die(path: Path) -> None:
    chance = random.Random(5)
    Store(path).close()
    acknowledged: dict[str, int] = {}
    for turn in range(5):
        writer = start(WRITER, str(path), f"w{turn}", "10000")
        consumer = start(CONSUMER, str(path))
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "ready\n"
        assert writer.stdout is not None
        heard = [writer.stdout.readline().split() for _ in range(chance.randint(3, 60))]
        for process in (writer, consumer) if turn % 2 else (consumer, writer):
            process.send_signal(signal.SIGKILL)
        acknowledged |= {run: int(number) for run, number in [*heard, *said(writer)]}
        said(consumer)
    assert len(acknowledged) >= 15
    with closing(Store(path)) as store:
        jobs, _ = store.jobs()
        waiting = {order.job: records.load_request(order.body).run for order in store.orders()}
    assert not set(jobs) & set(waiting)
    assert {job.tries for job in jobs.values()} <= {1}
    kept = {job.run: job.id for job in jobs.values()} | {run: n for n, run in waiting.items()}
    assert acknowledged.items() <= kept.items()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_order_that_was_sent_again_after_a_death_is_one_order(path: Path) -> None:
    writer = start(WRITER, str(path), "w", "10000")
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    last = [int(number) for _, number in said(writer)]
    with closing(Store(path)) as store:
        known = len(store.orders())
        assert store.submit("uid-w-0", 2.0, Request("w-0", ("t.py",), "job", "me")) == 1
        assert len(store.orders()) == known >= len(last)
