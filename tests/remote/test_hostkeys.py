"""Host keys are checked strictly; the sentence says what to compare and how to accept."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from cockpit_remote.failures import LinkFailed
from tests.cluster.lab import Lab
from tests.remote.operator_seat import config, linked

pytestmark = pytest.mark.cluster


async def _refused(lab: Lab) -> LinkFailed:
    with pytest.raises(LinkFailed) as refused:
        async with linked(lab, config("gpu1")):
            pass
    assert refused.value.needs_person
    return refused.value


async def test_an_unknown_key_is_refused_until_its_own_words_are_followed(lab: Lab) -> None:
    lab.known_hosts.write_text("")
    error = await _refused(lab)
    assert "unknown" in error.message
    assert lab.nodes["gpu1"].host_key_fingerprint in error.message
    _follow_advice(error.message.partition("accept it: ")[2])
    async with linked(lab, config("gpu1")) as link:
        assert link.hello["hostname"] == "gpu1"


async def test_a_changed_key_is_told_from_an_unknown_one(lab: Lab) -> None:
    old = lab.nodes["gpu1"].host_key_fingerprint
    lab.nodes["gpu1"].change_host_key()
    error = await _refused(lab)
    assert "CHANGED" in error.message
    assert error.message.index(old) < error.message.index(lab.nodes["gpu1"].host_key_fingerprint)
    _follow_advice(error.message.partition("key is right: ")[2])
    async with linked(lab, config("gpu1")) as link:
        assert link.hello["hostname"] == "gpu1"


async def test_no_configuration_turns_the_check_off(lab: Lab) -> None:
    text = lab.ssh_config.read_text()
    try:
        lines = text.replace(f"UserKnownHostsFile {lab.known_hosts}", "UserKnownHostsFile none")
        lab.ssh_config.write_text(lines.replace("StrictHostKeyChecking yes", ""))
        assert "unknown" in (await _refused(lab)).message
    finally:
        lab.ssh_config.write_text(text)


async def test_a_node_that_does_not_know_our_key_says_so(lab: Lab) -> None:
    lab.nodes["gpu1"].configure_sshd("AuthorizedKeysFile /dev/null")
    error = await _refused(lab)
    assert "refused the login" in error.message


def _follow_advice(words: str) -> None:
    """Run the command that a message gives, as a person would."""
    done = subprocess.run(
        ["sh", "-c", words], check=False, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, (shlex.join(["sh", "-c", words]), done.stderr)
