"""A rank that dies fails its job with the truth, and a restart ends where nothing had happened."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.processes import Proc
from tests.end_to_end.world import PATIENCE_S, World

pytestmark = [pytest.mark.cluster, pytest.mark.torch]

STEPS = 30
SETTINGS = ("--steps", str(STEPS), "--checkpoint-every", "5", "--log-every", "5", "--layers", "1")
DETECTED_S = 10.0


def test_a_killed_rank_is_named_and_a_restart_ends_bit_for_bit_as_if_unbroken(
    running: World,
) -> None:
    # Each training saves where nobody else does: both see the same three homes.
    train = ("-m", "cockpit_trainer.train", *SETTINGS)
    number = running.submit(
        "-N", "2", "--env", "OMP_NUM_THREADS=1", "--", *train, "--min-step-seconds", "0.2"
    )
    running.until_told(lambda: (running.job(number)["step"] or 0) >= 12, "step 12", PATIENCE_S)
    killed, node = _kill_rank(running, running.job(number), 1)
    job = running.ended(number, DETECTED_S)
    took_s = time.monotonic() - killed
    assert (job["state"], job["code"]) == ("failed", 137)
    assert f"rank 1 on {node} was ended by SIGKILL" in job["reason"]
    running.assert_nothing_left(job)
    assert took_s < DETECTED_S

    checkpoint = job["checkpoint"]["step"]
    said = running.say("restart", str(number), timeout_s=PATIENCE_S)
    assert f"job {number} restarts from step " in said.out, said
    resumed = running.ended(number)
    assert (resumed["state"], resumed["attempt"], resumed["step"]) == ("completed", 2, STEPS)
    assert STEPS > resumed["resumed_from"]["step"] >= checkpoint > 0
    assert not any(
        "cockpit_trainer" in line
        for line in running.lines(number, "--attempt", "2")
        if "Traceback" in line
    )

    unbroken = running.ended(running.submit("-N", "2", "--env", "OMP_NUM_THREADS=1", "--", *train))
    assert unbroken["state"] == "completed", running.lines(unbroken["id"])
    assert _weights(running, resumed) == _weights(running, unbroken)


def _kill_rank(running: World, job: Mapping[str, Any], rank: int) -> tuple[float, str]:
    """The monotonic time of the kill, and the node it was on."""
    name = job["nodes"][rank]
    found = [proc for proc in running.lab.nodes[name].marked(job["run"]) if _is_rank(proc, rank)]
    assert len(found) == 1, found
    running.lab.nodes[name].kill(found[0], signal.SIGKILL)
    return time.monotonic(), name


def _is_rank(proc: Proc, rank: int) -> bool:
    return proc.environ.get("RANK") == str(rank) and "cockpit_trainer.train" in proc.argv


def _weights(running: World, job: Mapping[str, Any]) -> str:
    """One digest of the model, the optimizer and all else in the newest checkpoint."""
    home = running.lab.nodes[job["nodes"][0]]
    directory = f"{job['checkpoint']['path']}"
    ended = home.run([sys.executable, "-m", "cockpit_trainer.weights", directory])
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
