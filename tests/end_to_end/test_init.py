"""`cockpit init` writes a configuration that works at once."""

from __future__ import annotations

import pytest

from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


def test_what_init_writes_is_used_at_once(world: World) -> None:
    world.config.unlink()
    said = world.say("init", "--all", "--name", "fresh", "-o", str(world.config))
    assert said.status == 0, said
    assert [line.split(":")[0] for line in said.out.splitlines()] == ["gpu1", "gpu2", "gpu3"]
    said = world.say("nodes", "--json")
    assert said.status == 0, said
    assert [record["link"] for record in said.records] == ["up"] * 3
    assert [record["address"] for record in said.records] == [n.address for n in world.nodes]
    said = world.say("init", "--all", "-o", str(world.config))
    assert said.status == 2
    assert "is there already; give --force to replace it" in said.err


def test_init_says_of_a_host_that_does_not_work_why_and_writes_the_others(world: World) -> None:
    world.lab.nodes["gpu2"].stop_sshd()
    said = world.say("init", "gpu1", "gpu2", "-o", str(world.config), "--force")
    assert said.status == 0, said
    assert "refused the connection" in said.out
    nodes = world.say("nodes", "--json")
    assert nodes.records[0]["node"] == "gpu1", nodes
    assert nodes.records[0]["link"] == "up"
