"""The agent starts on whatever a lab calls a node, or the reason is said in words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cockpit_remote.failures import LinkFailed
from tests.cluster.lab import Lab
from tests.cluster.node import LabNode
from tests.cluster.wait import until
from tests.remote.operator_seat import PYTHON_3_8, config, linked

pytestmark = pytest.mark.cluster

NOISE = (
    'echo "Welcome to {} COCKPIT-READY deadbeef have"; printf "\\033[1m\\377\\n"; echo err >&2\n'
)


async def test_a_noisy_login_shell_only_adds_noise(lab: Lab) -> None:
    lab.nodes["gpu1"].write("/home/lab/.bashrc", NOISE.format("gpu1"))
    async with linked(lab, config("gpu1")) as link:
        assert await link.request("runs", {}, 10) == {"runs": []}
        assert "Welcome to gpu1" in link.noise
        assert "err" in link.noise


async def test_a_node_that_has_the_agent_is_not_sent_it_again(lab: Lab) -> None:
    async with linked(lab, config("gpu1")):
        pass
    kept = _agents(lab.nodes["gpu1"])
    async with linked(lab, config("gpu1")):
        pass
    assert len(kept) == 1
    assert _agents(lab.nodes["gpu1"]) == kept


async def test_a_damaged_agent_is_replaced(lab: Lab) -> None:
    async with linked(lab, config("gpu1")):
        pass
    (kept,) = _agents(lab.nodes["gpu1"])
    lab.nodes["gpu1"].write(kept.split()[-1], "import os\n")
    async with linked(lab, config("gpu1")) as link:
        assert await link.request("runs", {}, 10) == {"runs": []}
    assert [line.split()[0] for line in _agents(lab.nodes["gpu1"])] == [kept.split()[0]]


async def test_a_node_without_python_is_refused_with_that_sentence(lab: Lab) -> None:
    lab.nodes["gpu1"].hide_python()
    with pytest.raises(LinkFailed, match=r"gpu1 has no python3 \(3\.8 or newer") as refused:
        async with linked(lab, config("gpu1")):
            pass
    assert refused.value.needs_person


async def test_a_configured_python_that_is_none_is_named(lab: Lab) -> None:
    with pytest.raises(LinkFailed, match=r"python = /bin/false.*correct it in \[nodes.gpu1\]"):
        async with linked(lab, config("gpu1", python="/bin/false")):
            pass


@pytest.mark.skipif(not Path(PYTHON_3_8).exists(), reason="no Python 3.8 here")
async def test_the_oldest_python_will_do(lab: Lab) -> None:
    async with linked(lab, config("gpu1", python=PYTHON_3_8)) as link:
        assert link.hello["python"].startswith("3.8.")
        assert await link.request("runs", {}, 10) == {"runs": []}


async def test_a_forced_command_is_told_from_a_shell(lab: Lab) -> None:
    lab.nodes["gpu1"].configure_sshd("ForceCommand echo this account is for git only")
    with pytest.raises(LinkFailed, match=r"started no shell.*for git only") as refused:
        async with linked(lab, config("gpu1")):
            pass
    assert refused.value.needs_person


@pytest.mark.parametrize("shell", ["/bin/false", "/usr/sbin/nologin"])
async def test_an_account_without_a_shell_is_named(lab: Lab, shell: str) -> None:
    lab.nodes["gpu1"].set_login_shell(shell)
    with pytest.raises(LinkFailed, match="started no shell"):
        async with linked(lab, config("gpu1")):
            pass


async def test_the_agent_runs_from_memory_where_no_disk_takes_it(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    for place in ("/home/lab/.local", "/var/tmp/cockpit-0"):
        _mount(node, place, "size=4096,mode=700")
    node.run(["sh", "-c", "cat /dev/zero > /var/tmp/cockpit-0/f"])
    async with linked(lab, config("gpu1")) as link:
        assert await link.request("runs", {}, 10) == {"runs": []}
        assert link.hello["version"] == "unpacked"


async def test_a_read_only_home_is_no_obstacle(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    _mount(node, "/home/lab", "ro,mode=700")
    async with linked(lab, config("gpu1")) as link:
        assert link.hello["state_root"] == "/var/tmp/cockpit-0"
        assert await link.request("runs", {}, 10) == {"runs": []}


async def test_a_state_directory_that_cannot_be_is_named(lab: Lab) -> None:
    with pytest.raises(LinkFailed, match="state_dir /proc/nowhere cannot be made") as refused:
        async with linked(lab, config("gpu1", state_dir="/proc/nowhere")):
            pass
    assert refused.value.needs_person


async def test_a_session_killed_while_the_agent_starts_is_tried_again(lab: Lab) -> None:
    node = lab.nodes["gpu1"]
    node.write("/home/lab/.bashrc", "exec sleep 600\n")
    opening = asyncio.ensure_future(_open(lab))
    await asyncio.to_thread(until, lambda: _sleeps(node), "the shell to hang")
    for session in node.sshd_sessions():
        node.kill(session)
    with pytest.raises(LinkFailed, match="was lost") as refused:
        await opening
    assert not refused.value.needs_person


async def _open(lab: Lab) -> None:
    async with linked(lab, config("gpu1")):
        pass


def _sleeps(node: LabNode) -> bool:
    return any(proc.argv[:1] == ("sleep",) for proc in node.processes())


def _agents(node: LabNode) -> list[str]:
    """Hash and path of each agent that the node keeps."""
    found = node.run(["sh", "-c", "sha256sum /home/lab/.local/state/cockpit-node/agent/*"])
    return found.stdout.splitlines()


def _mount(node: LabNode, place: str, options: str) -> None:
    node.run(["mkdir", "-p", place])
    done = node.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place])
    assert done.returncode == 0, done.stderr
