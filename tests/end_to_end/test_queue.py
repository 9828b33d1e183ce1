"""Jobs that do not fit wait their turn with the true reason, and no slot is ever used twice."""

from __future__ import annotations

import pytest

from tests.end_to_end import standin
from tests.end_to_end.world import PROJECT, World

pytestmark = pytest.mark.cluster

HOLD = f"""
import os, sys, time
while not os.path.exists("{PROJECT}/release-" + sys.argv[1]):
    time.sleep(0.05)
"""
LOCKING = f"""
import fcntl, json, os, sys, time
mine = sys.argv[1]
state = json.load(open(os.path.dirname(os.environ["COCKPIT_CHECKPOINT_DIR"]) + "/1/spec.json"))
units = state["units"]
assert len(units) == 1, units
lock = open(f"{PROJECT}/{{units[0]}}.lock", "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(f"{PROJECT}/collisions", "a").write(f"{{mine}} on {{units[0]}}\\n")
open(f"{PROJECT}/used", "a").write(f"{{mine}} {{units[0]}}\\n")
time.sleep(0.3)
"""
MANY = 20


def test_jobs_wait_in_order_with_the_true_reason_and_start_when_others_end(running: World) -> None:
    standin.put(running)
    running.put("hold.py", HOLD)
    first = [running.submit("-G", "2", "--", "hold.py", str(n)) for n in range(3)]
    for number in first:
        running.until_state(number, "running")
    large = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "hold.py", "large")
    small = running.submit("--", "true")
    running.until_told(lambda: running.job(small)["reason"], "the last job's reason")
    assert running.job(large)["reason"] == "Resources: needs 2x2 slots, free none"
    assert running.job(small)["reason"] == f"Priority: behind job {large}"
    rows = [line.split() for line in running.say("ps").out.splitlines()]
    assert [row[3] for row in rows[1:]] == ["R", "R", "R", "PD", "PD"], rows

    assert running.say("cancel", str(first[0]), "--yes", "--grace", "0").status == 0
    running.ended(first[0])
    running.until_told(
        lambda: "free 1x2" in running.job(large)["reason"], "the large job to see more room"
    )
    assert running.job(small)["state"] == "pending"
    running.put("release-1", "")
    running.until_state(large, "running")
    assert running.job(small)["reason"] == "Resources: needs 1x1 slots, free none"

    running.put("release-large", "")
    assert running.ended(small)["state"] == "completed"
    running.put("release-2", "")
    for number in (*first[1:], large):
        assert running.ended(number)["state"] == "completed", running.job(number)


def test_twenty_jobs_share_six_slots_and_never_meet_on_one(running: World) -> None:
    running.put("locking.py", LOCKING)
    numbers = [running.submit("--", "locking.py", str(n)) for n in range(MANY)]
    said = running.say("wait", *map(str, numbers), "--timeout", "90", timeout_s=120)
    assert said.status == 0, said
    used, collisions = [], []
    for node in running.nodes:
        used += node.run(["cat", f"{PROJECT}/used"]).stdout.splitlines()
        collisions += node.run(["cat", f"{PROJECT}/collisions"]).stdout.splitlines()
    assert collisions == []
    assert sorted(int(line.split()[0]) for line in used) == list(range(MANY))
    assert len({line.split()[1] for line in used}) == 2


def test_a_log_is_followed_from_before_its_job_starts_until_its_end(running: World) -> None:
    running.put("hold.py", HOLD)
    standin.put(running)
    holder = running.submit("-N", "3", "-G", "2", *standin.OPTIONS, "--", "hold.py", "first")
    running.until_state(holder, "running")
    waiting = running.submit("--", "sh", "-c", "echo one; echo two")
    running.until_told(lambda: running.job(waiting)["reason"], "the reason why it waits")
    with running.start("logs", "-f", str(waiting)) as following:
        running.put("release-first", "")
        out, err = following.communicate(timeout=60)
    node = running.job(waiting)["nodes"][0]
    assert (following.returncode, out) == (0, f"0@{node} one\n0@{node} two\n"), err
