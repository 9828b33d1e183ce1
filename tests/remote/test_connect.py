"""How a node is reached: jump hosts, keys, and what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cockpit_remote.failures import LinkFailed
from cockpit_remote.probe import probe_host
from tests.cluster.lab import Lab
from tests.cluster.wait import until
from tests.remote.operator_seat import config, linked

pytestmark = pytest.mark.cluster


@pytest.fixture
def far(lab: Lab) -> Iterator[str]:
    """An alias of gpu2 that leads through gpu1."""
    before = lab.ssh_config.read_text()
    address = lab.nodes["gpu2"].address
    jump = f"Host far\n HostName {address}\n ProxyJump root@{lab.nodes['gpu1'].address}:22\n"
    everyone = before.replace("Host gpu1 gpu2", "Host far 198.* gpu1 gpu2")
    lab.ssh_config.write_text(f"{jump}{everyone}")
    yield "far"
    lab.ssh_config.write_text(before)


async def test_a_node_behind_a_jump_host_is_reached_through_it(lab: Lab, far: str) -> None:
    async with linked(lab, config("gpu2", address=far)) as link:
        assert link.hello["hostname"] == "gpu2"
        assert len(lab.nodes["gpu1"].sshd_sessions()) >= 1
    await asyncio.to_thread(
        until, lambda: not lab.nodes["gpu1"].sshd_sessions(), "the jump host to be left"
    )


async def test_the_key_of_a_jump_host_is_checked_as_strictly(lab: Lab, far: str) -> None:
    lab.nodes["gpu1"].change_host_key()
    with pytest.raises(LinkFailed, match="has CHANGED") as refused:
        async with linked(lab, config("gpu2", address=far)):
            pass
    assert lab.nodes["gpu1"].host_key_fingerprint in refused.value.message


async def test_a_private_key_that_others_can_read_is_refused(lab: Lab) -> None:
    lab.identity.chmod(0o644)
    try:
        with pytest.raises(LinkFailed, match="chmod 600"):
            async with linked(lab, config("gpu1")):
                pass
    finally:
        lab.identity.chmod(0o600)


async def test_a_hanging_nvidia_smi_delays_no_answer_and_is_not_left_behind(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    node.write("/usr/local/bin/nvidia-smi", "#!/bin/sh\nexec sleep 600\n", 0o755)
    async with linked(lab, config("gpu1")) as link:
        until(lambda: _sleeping(lab), "nvidia-smi to hang")
        assert await link.request("runs", {}, 2) == {"runs": []}
    until(lambda: not _sleeping(lab), "nvidia-smi to be gone")


async def test_a_first_look_says_what_a_host_is(lab: Lab) -> None:
    lab.nodes["gpu1"].set_environment({"COCKPIT_NODE_SIMULATED_GPUS": "2"})
    found = await probe_host("gpu1", lab.ssh_config)
    assert found.error is None
    assert found.address == lab.nodes["gpu1"].address
    assert found.gpus == ("Simulated GPU", "Simulated GPU")
    assert found.cores is not None
    lab.nodes["gpu2"].stop_sshd()
    assert "is sshd running there?" in ((await probe_host("gpu2", lab.ssh_config)).error or "")


def _sleeping(lab: Lab) -> bool:
    return any(proc.argv[:1] == ("sleep",) for proc in lab.nodes["gpu1"].processes())
