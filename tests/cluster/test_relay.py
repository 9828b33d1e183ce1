"""The detour delays every byte and changes none."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.cluster.lab import Lab
from tests.cluster.relay import delayed

pytestmark = pytest.mark.cluster


async def test_a_detour_delays_every_byte_and_changes_none(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    async with delayed(node.address, delay_s=0.1) as port:
        began = time.monotonic()
        detour = ["-o", "HostName=127.0.0.1", "-o", "HostKeyAlias=gpu1", "-p", str(port)]
        ssh = await asyncio.create_subprocess_exec(
            *["ssh", "-F", str(lab.ssh_config), *detour, "gpu1", "seq 200000"],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await ssh.communicate()
        assert ssh.returncode == 0
        assert printed.split() == [b"%d" % i for i in range(1, 200001)]
        assert time.monotonic() - began > 1.0, "SSH needs five round trips before the command runs"
