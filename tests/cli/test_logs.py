"""`cockpit logs -f` of a job that is over, while its nodes stay away."""

from __future__ import annotations

from cockpit.core.jobs import Exit, Job, JobState, Part, PartState, Stream
from cockpit.core.request import Request
from cockpit.engine.lock import EngineLock
from cockpit.engine.spool import AttemptSpool
from tests.cli.desk import Desk

IMPATIENT = """
import importlib
from cockpit.cli import main
importlib.import_module("cockpit.cli.logs").QUIET_S = 0.3
main()
"""


def _part(node: str, rank: int, ended: Exit) -> Part:
    streams = (Stream(f"{rank}.stdout", rank, "stdout"),)
    return Part(node, rank, ("slot-0",), (0,), PartState.ENDED, streams=streams, exit=ended)


def test_following_a_job_that_is_over_ends_and_says_what_was_not_read(desk: Desk) -> None:
    parts = (_part("a", 0, Exit(0)), _part("b", 1, Exit(None, lost=True)))
    request = Request("RUN1", ("train.py",), "job", "me", 2, 1)
    desk.write(Job(1, request, JobState.NODE_FAIL, attempt=1, parts=parts))
    with desk.store() as store, store.transaction():
        store.mark_parsed("RUN1", 1, "1.stdout", 0, collected=True)
    spool = AttemptSpool(desk.paths.spool("RUN1", 1))
    spool.declare("0.stdout", "a", 0)
    spool.append("0.stdout", 0, b"hello\n")
    spool.close()
    lock = EngineLock(desk.paths.lock)
    assert lock.acquire()
    try:
        answer = desk.run("logs", "-f", "1", code=IMPATIENT)
    finally:
        lock.release()
    assert (answer.status, answer.out) == (0, "0@a hello\n")
    late, lost = answer.err.splitlines()
    assert late.startswith("the end of 0.stdout on a is not here yet; `cockpit logs 1` shows it")
    assert lost == "b was lost: what was printed last there may be missing"
