"""A node that lies: an SSH server in this process that plays the agent's part, badly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncssh
import pytest

from cockpit.config import NodeConfig
from cockpit.engine.ports import FollowEvent, LinkEnded, NodeDown, Refusal, Unreachable
from cockpit_node.wire import LAYOUT, PROTOCOL, Chunk, encode, encode_chunk
from cockpit_remote.failures import LinkFailed
from cockpit_remote.link import Link, open_link
from cockpit_remote.nodes import SshNodes
from tests.remote.operator_seat import Seat

HELLO = {
    "type": "hello",
    "protocol": PROTOCOL,
    "layout": LAYOUT,
    "version": "1",
    "hostname": "evil",
    "user": "me",
    "uid": 1,
    "python": "3.11",
    "pid": 1,
    "boot_id": "b",
    "state_root": "/x",
    "address": None,
    "interface": None,
    "cores": 1,
}

Process = asyncssh.SSHServerProcess[bytes]


class Liar:
    """Where the lying node listens, and what it says."""

    def __init__(self, ssh_config: Path) -> None:
        self.ssh_config = ssh_config
        self.first: Callable[[str], bytes] = lambda nonce: b""
        """Its answer to the script, which carries the nonce."""
        self.nonces: list[str] = []
        self._process: Process | None = None

    def start_with(self, *frames: bytes) -> None:
        """Start as an agent does, then send `frames`."""
        self.first = lambda nonce: f"COCKPIT-READY {nonce} have\n".encode() + b"".join(frames)

    def say(self, data: bytes) -> None:
        assert self._process is not None
        self._process.stdout.write(data)

    async def link(self) -> Link:
        node = NodeConfig("evil", "evil")
        return await open_link(node, self.ssh_config, "test", Seat().take, 10)

    async def play(self, process: Process) -> None:
        """The whole of one channel, from the script on."""
        script = b""
        while (found := re.search(rb"^' ([0-9a-f]{16}) ", script, re.MULTILINE)) is None:
            script += await process.stdin.read(65536)
        self._process = process
        self.nonces.append(found[1].decode())
        self.say(self.first(self.nonces[-1]))
        while await process.stdin.read(65536):
            pass
        process.exit(0)


@pytest.fixture
async def liar(tmp_path: Path) -> AsyncIterator[Liar]:
    host_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    (tmp_path / "key").write_bytes(user_key.export_private_key())
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "authorized").write_bytes(user_key.export_public_key())
    playing = Liar(tmp_path / "config")

    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=str(tmp_path / "authorized"),
        process_factory=playing.play,
        encoding=None,
    )
    port = server.get_port()
    public = host_key.export_public_key().decode()
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    playing.ssh_config.write_text(
        f"Host evil\n HostName 127.0.0.1\n Port {port}\n User me\n IdentitiesOnly yes\n"
        f" IdentityAgent none\n IdentityFile {tmp_path / 'key'}\n"
        f" UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
        " RequestTTY force\n RemoteCommand rm -rf /\n ForwardAgent yes\n"
    )
    try:
        yield playing
    finally:
        server.close()
        await server.wait_closed()


async def _end_of(link: Link) -> LinkFailed:
    async with asyncio.timeout(10):
        return await link.ended


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([b"SSH is fun, are these frames?"], "frame"),
        ([b"\xff\xff\xff\xff\x01"], "over the limit"),
        ([encode({**HELLO, "uid": "root"})], "hello.uid is not a whole number"),
        ([encode({**HELLO, "protocol": PROTOCOL + 1})], "speaks protocol"),
        ([encode({"type": "reading"})], "reading"),
        ([encode({"type": "run", "run": "x"})], "run"),
        ([b"\x00\x00\x00\x02\x01[]"], "not an object"),
        ([b"\x00\x00\xc3\x50\x01" + b"[" * 50_000], "not JSON"),
        ([encode_chunk(Chunk(1, 0, b"x")), encode({**HELLO, "cores": None})], "cores"),
    ],
)
async def test_a_lie_before_hello_is_a_sentence(
    liar: Liar, frames: list[bytes], words: str
) -> None:
    liar.start_with(*frames)
    with pytest.raises(LinkFailed, match=words) as refused:
        await liar.link()
    assert refused.value.needs_person


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (encode(HELLO), "hello came twice"),
        (encode({"type": "reply", "id": "1", "ok": True}), "reply.id"),
        (encode({"type": "end", "stream": None, "offset": 0}), "end.stream"),
        (encode({"type": "surprise"}), "unknown message"),
    ],
)
async def test_a_later_lie_ends_the_link_with_a_sentence(
    liar: Liar, frame: bytes, words: str
) -> None:
    liar.start_with(encode(HELLO))
    link = await liar.link()
    liar.say(frame)
    assert words in (await _end_of(link)).message
    with pytest.raises(Unreachable):
        await link.request("runs", {}, 1)
    await link.close()


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        (Chunk(1, 7, b"x"), "where 0 is next"),
        (Chunk(1, 0, b"x" * 101), "more bytes of a log came than were asked for"),
    ],
)
async def test_bytes_nobody_asked_for_end_the_link(liar: Liar, chunk: Chunk, words: str) -> None:
    liar.start_with(encode(HELLO))
    link = await liar.link()
    got: list[FollowEvent] = []
    following = asyncio.ensure_future(link.follow({"offset": 0, "credit": 100}, got.append, 5))
    await asyncio.wait({following}, timeout=0)
    liar.say(encode({"type": "reply", "id": 2, "ok": True, "body": {}}) + encode_chunk(chunk))
    await following
    message = (await _end_of(link)).message
    assert words in message
    assert got == [LinkEnded(message)]
    await link.close()


async def test_a_late_answer_and_an_unknown_stream_are_nothing_to_worry_about(liar: Liar) -> None:
    liar.start_with(encode(HELLO))
    link = await liar.link()
    asked = asyncio.ensure_future(link.request("prepare", {}, 5))
    await asyncio.wait({asked}, timeout=0)
    liar.say(encode({"type": "reply", "id": 99, "ok": True}))
    liar.say(encode_chunk(Chunk(9, 5, b"x")))
    refusal = {"code": "Busy", "message": "someone", "retry": True}
    liar.say(encode({"type": "reply", "id": 1, "ok": False, "error": refusal}))
    with pytest.raises(Refusal, match="someone") as refused:
        await asked
    assert refused.value.retry
    await link.close()


async def test_an_endless_greeting_is_cut_short(liar: Liar) -> None:
    liar.first = lambda nonce: b"welcome " * 20_000
    with pytest.raises(LinkFailed, match="started no shell; it said: welcome"):
        await liar.link()


async def test_an_echoed_script_is_not_taken_for_an_agent(liar: Liar) -> None:
    echo = "printf 'COCKPIT-%s %s' NO-PYTHON {}\n"
    liar.first = lambda nonce: echo.format(nonce).encode() + b"x" * 100_000
    with pytest.raises(LinkFailed, match="started no shell"):
        await liar.link()


async def test_a_liar_is_not_asked_again_and_again(liar: Liar) -> None:
    liar.start_with(encode({**HELLO, "cores": "many"}))
    seat = Seat()
    nodes = SshNodes([NodeConfig("evil", "evil")], liar.ssh_config, "test")
    nodes.start(seat.take)
    down = await seat.see(NodeDown)
    assert down.needs_person
    assert down.retry_in_s is not None
    assert down.retry_in_s >= 60
    await nodes.close()
    assert len(liar.nonces) == 1
