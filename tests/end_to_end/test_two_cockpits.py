"""Two people's cockpits over one cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.lab import Lab
from tests.end_to_end.world import PROJECT, World

pytestmark = pytest.mark.cluster

EXCLUSIVE = f"""
import fcntl, json, os, time
place = os.path.dirname(os.environ["COCKPIT_CHECKPOINT_DIR"])
(unit,) = json.load(open(place + "/1/spec.json"))["units"]
lock = open(f"{PROJECT}/{{unit}}.lock", "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(f"{PROJECT}/collisions", "a").write(unit + "\\n")
open(f"{PROJECT}/used", "a").write(unit + "\\n")
time.sleep(0.5)
"""


def test_two_cockpits_share_the_slots_of_one_cluster(lab: Lab, tmp_path: Path) -> None:
    worlds = []
    for name in ("mine", "yours"):
        (tmp_path / name).mkdir()
        worlds.append(World(lab, tmp_path / name))
    try:
        for world in worlds:
            world.start_daemon()
        worlds[0].put("exclusive.py", EXCLUSIVE)
        for _ in range(9):
            for world in worlds:
                world.submit("--", "exclusive.py")
        for world in worlds:
            said = world.say("wait", *map(str, range(1, 10)), "--timeout", "90", timeout_s=120)
            assert said.status == 0, (said, world.daemon_log[-2000:])
        used = [node.run(["cat", f"{PROJECT}/used"]).stdout.split() for node in worlds[0].nodes]
        assert sum(map(len, used)) == 18
        for node in worlds[0].nodes:
            assert node.run(["cat", f"{PROJECT}/collisions"]).stdout == ""
    finally:
        for world in worlds:
            world.close()
