"""A job of several nodes starts with the right surroundings, and every line it prints arrives."""

from __future__ import annotations

import json

import pytest

from tests.end_to_end.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.torch]

LINES = 2000
"""Of each rank."""
SCRIPT = f"""
import json, os
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR",
         "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "COCKPIT_ATTEMPT", "TORCHELASTIC_RESTART_COUNT")
print("environment", json.dumps({{name: os.environ.get(name) for name in names}}))
for number in range({LINES}):
    print(f"rank {{os.environ['RANK']}} line {{number:04}} " + "x" * (number % 97))
"""


def test_ranks_on_two_nodes_know_who_they_are_and_all_they_print_arrives(running: World) -> None:
    running.put("ranks.py", SCRIPT)
    number = running.submit("-N", "2", "-G", "2", "--", "ranks.py")
    job = running.ended(number)
    assert (job["state"], job["code"], job["ranks"]) == ("completed", 0, 4), job
    assert len(set(job["nodes"])) == 2, job
    surroundings = [_environment(running.lines(number, "--rank", str(rank))) for rank in range(4)]
    ports = {found["MASTER_PORT"] for found in surroundings}
    assert len(ports) == 1, ports
    for rank, found in enumerate(surroundings):
        assert found == {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % 2),
            "WORLD_SIZE": "4",
            "LOCAL_WORLD_SIZE": "2",
            "GROUP_RANK": str(rank // 2),
            "MASTER_ADDR": running.lab.nodes[job["nodes"][0]].address,
            "MASTER_PORT": found["MASTER_PORT"],
            "CUDA_VISIBLE_DEVICES": "",
            "COCKPIT_ATTEMPT": "1",
            "TORCHELASTIC_RESTART_COUNT": "0",
        }
    _check_lines(running.lines(number), job["nodes"])
    running.assert_nothing_left(job)


def _environment(lines: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = json.loads(lines[0].partition(" environment ")[2])
    return found


def _check_lines(merged: list[str], nodes: list[str]) -> None:
    """Every line of every rank is there once, whole, in its rank's order."""
    for rank in range(4):
        who = f"{rank}@{nodes[rank // 2]} rank "
        mine = [line for line in merged if line.startswith(who)]
        assert mine == [
            f"{who}{rank} line {number:04} " + "x" * (number % 97) for number in range(LINES)
        ]
    others = [line for line in merged if not line.startswith("torchrun@")]
    assert len(others) == 4 * (LINES + 1)
