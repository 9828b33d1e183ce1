"""What watches over a run on its node, killed."""

from __future__ import annotations

import pytest

from tests.end_to_end import standin
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

ENDLESS = "import time; time.sleep(600)\n"


def test_a_job_whose_keeper_was_killed_can_still_be_ended(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    number = running.submit(
        "-N", "2", "-G", "2", "--grace", "1", *standin.OPTIONS, "--", "endless.py"
    )
    job = running.until_state(number, "running")
    node = running.lab.nodes[job["nodes"][1]]
    (keeper,) = [proc for proc in node.processes() if "supervise" in proc.argv]
    node.kill(keeper)
    assert len(node.marked(job["run"])) >= 2
    assert running.say("cancel", str(number), "--yes").status == 0
    assert running.ended(number, 20)["state"] == "cancelled"
    running.assert_nothing_left(job)


def test_a_killed_launcher_takes_its_ranks_and_its_peers_along(running: World) -> None:
    standin.put(running)
    running.put("endless.py", ENDLESS)
    number = running.submit("-N", "2", "-G", "2", *standin.OPTIONS, "--", "endless.py")
    job = running.until_state(number, "running")
    node = running.lab.nodes[job["nodes"][0]]
    (launcher,) = [p for p in node.marked(job["run"]) if "torch.distributed.run" in p.argv]
    node.kill(launcher)
    ended = running.ended(number, 15)
    assert (ended["state"], ended["code"]) == ("failed", 137), ended
    assert "SIGKILL" in ended["reason"]
    assert node.name in ended["reason"]
    running.assert_nothing_left(job)
