"""One link: one connection and one channel to one node, and everything that goes over it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import asyncssh

from cockpit.config import NodeConfig
from cockpit.engine.ports import (
    Body,
    NodeConnecting,
    NodeEvent,
    NodeReading,
    Refusal,
    RunReported,
    Unreachable,
)
from cockpit_node.wire import PROTOCOL, Chunk, Decoder, Frame, Message, WireError, encode
from cockpit_remote import bootstrap, connect
from cockpit_remote.channel import Channel
from cockpit_remote.failures import LinkFailed, explain
from cockpit_remote.messages import BadMessage, check, check_reply
from cockpit_remote.streams import Sink, Stream
from cockpit_remote.waiting import first_of, unless

START_S = 30.0
"""From the channel's start to the node's hello, on a slow disk and a cold Python."""


class Link:
    """A node that answers, until `ended` is done."""

    def __init__(
        self,
        node: str,
        connection: connect.Connection,
        channel: Channel,
        on_event: Callable[[NodeEvent], None],
    ) -> None:
        self.node = node
        self.hello: Body = {}
        self.ended: asyncio.Future[LinkFailed] = asyncio.get_running_loop().create_future()
        """Done, with the reason, when nothing comes or goes any more."""
        self._connection = connection
        self._channel = channel
        self._on_event = on_event
        self._decoder = Decoder()
        self._greeted = asyncio.Event()
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._streams: dict[int, Stream] = {}
        channel.closed.add_done_callback(self._channel_closed)

    @property
    def noise(self) -> str:
        """What the user's shell printed before the agent spoke, and what came by stderr."""
        return (self._channel.noise.decode("utf-8", "replace") + self._channel.errors).strip()

    async def greet(self, node: NodeConfig, client: str) -> None:
        """Say hello and wait for the node's. Raises LinkFailed."""
        options = {"slots": node.slots, "interface": node.interface, "state_dir": node.state_dir}
        hello = {"protocol": PROTOCOL, "node": node.name, "client": client, "options": options}
        self._send({"type": "hello", **hello})
        self._channel.deliver(self._received)
        await unless(self.ended, self._greeted.wait())
        if self.ended.done():
            raise self.ended.result()

    async def request(self, verb: str, body: Body, within_s: float) -> Body:
        """One verb. Raises Refusal, or Unreachable where no answer came within `within_s`."""
        number = next(self._numbers)
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        try:
            self._send({"type": "request", "id": number, "verb": verb, "body": dict(body)})
            await first_of(reply, self.ended, within_s=within_s)
        finally:
            del self._replies[number]
        if reply.done():
            return self._body_of(verb, reply.result())
        if self.ended.done():
            raise Unreachable(self.ended.result().message)
        raise Unreachable(f"{self.node} did not answer {verb!r} within {within_s:g} s")

    async def follow(self, body: Body, sink: Sink, within_s: float) -> Stream:
        """Follow a file. Raises Refusal or Unreachable."""
        number = next(self._numbers)
        stream = Stream(
            number, body["offset"], body["credit"], sink, self._send_credit, self._unfollow
        )
        self._streams[number] = stream
        try:
            await self.request("follow", {**body, "stream": number}, within_s)
        except BaseException:
            self._streams.pop(number, None)
            raise
        return stream

    async def close(self) -> None:
        """End the link; the agent ends with its channel."""
        self._end(LinkFailed(f"the link to {self.node} was closed"))
        await self._connection.wait_closed()

    def _body_of(self, verb: str, reply: Message) -> Body:
        if not reply["ok"]:
            error = reply.get("error") or {"code": "Fault", "message": "no reason", "retry": False}
            raise Refusal(error["code"], error["message"], error["retry"])
        try:
            return check_reply(verb, reply)
        except BadMessage as error:
            self._broken(error)
            raise Unreachable(self.ended.result().message) from error

    def _send(self, message: Message) -> None:
        self._channel.write(encode(message))

    def _send_credit(self, stream: int, count: int) -> None:
        if stream in self._streams:
            self._send({"type": "credit", "stream": stream, "bytes": count})

    async def _unfollow(self, stream: int) -> None:
        if self._streams.pop(stream, None) is not None and not self.ended.done():
            number = next(self._numbers)
            body = {"stream": stream}
            self._send({"type": "request", "id": number, "verb": "unfollow", "body": body})

    def _received(self, data: bytes) -> None:
        if self.ended.done():
            return
        try:
            for frame in self._decoder.feed(data):
                self._take(frame)
        except (WireError, BadMessage) as error:
            self._broken(error)

    def _broken(self, error: Exception) -> None:
        self._end(
            LinkFailed(
                f"{self.node} broke the protocol: {error}. If a person did not, its agent is "
                "damaged or newer than this cockpit",
                needs_person=True,
            )
        )

    def _take(self, frame: Frame) -> None:
        if isinstance(frame, Chunk):
            stream = self._streams.get(frame.stream)
            if stream is not None:
                stream.append(frame)
            return
        kind = check(frame)
        if not self._greeted.is_set() and kind != "hello":
            raise BadMessage(f"{kind} came before hello")
        match kind:
            case "hello":
                self._hello(frame)
            case "reply":
                reply = self._replies.get(frame["id"])
                if reply is not None and not reply.done():
                    reply.set_result(frame)
            case "reading":
                self._on_event(NodeReading(self.node, frame))
            case "run":
                self._on_event(RunReported(self.node, frame))
            case "replaced":
                if (stream := self._streams.get(frame["stream"])) is not None:
                    stream.replace(frame["message"])
            case "end":
                if (stream := self._streams.pop(frame["stream"], None)) is not None:
                    stream.end(frame["offset"])

    def _hello(self, frame: Message) -> None:
        if self._greeted.is_set():
            raise BadMessage("hello came twice")
        if frame["protocol"] != PROTOCOL:
            raise BadMessage(
                f"it speaks protocol {frame['protocol']}, this cockpit speaks {PROTOCOL}"
            )
        self.hello = frame
        self._greeted.set()

    def _channel_closed(self, closed: asyncio.Future[Exception | None]) -> None:
        error = closed.result()
        if error is not None:
            self._end(explain(self.node, self._connection.place, error))
        else:
            said = " ".join(self._channel.errors.split())[-300:]
            because = f"; its last words: {said}" if said else ""
            # An agent that could not even say hello found something here that will stay.
            stuck = bool(said) and not self._greeted.is_set()
            self._end(LinkFailed(f"the agent on {self.node} ended{because}", needs_person=stuck))

    def _end(self, failure: LinkFailed) -> None:
        if self.ended.done():
            return
        self.ended.set_result(failure)
        streams, self._streams = self._streams, {}
        self._connection.abort()
        for stream in streams.values():
            stream.lose(failure.message)


async def open_link(
    node: NodeConfig,
    ssh_config: Path | None,
    client: str,
    on_event: Callable[[NodeEvent], None],
    connect_s: float,
) -> Link:
    """Connect, start the agent and greet it. Raises LinkFailed."""

    def progress(phase: str) -> None:
        on_event(NodeConnecting(node.name, phase))

    progress("connecting")
    connection = await connect.connect(connect.Target.of(node), ssh_config, connect_s)
    try:
        async with asyncio.timeout(START_S):
            progress("starting the agent")
            channel = await Channel.open(connection.ssh)
            await bootstrap.start(channel, node, progress)
            link = Link(node.name, connection, channel, on_event)
            await link.greet(node, client)
            return link
    except TimeoutError as error:
        connection.abort()
        raise LinkFailed(
            f"{node.name} let us in, but its agent did not start within {START_S:.0f} s: "
            "its disk or its home directory may hang"
        ) from error
    except (OSError, asyncssh.Error) as error:
        connection.abort()
        raise explain(node.name, connection.place, error) from error
    except BaseException:
        connection.abort()
        raise
