"""Takes the orders of one operator: each in a thread of its own, answered by its number."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from typing import Any, NamedTuple

from cockpit_node import identity, leases, paths, runs
from cockpit_node.archive import AGENTS, own_archive, touch
from cockpit_node.body import BadOrder, Body, maybe_number, maybe_text, number, table, text
from cockpit_node.follow import Follower
from cockpit_node.outbox import Outbox
from cockpit_node.probe.reading import EVERY_S, Readings, Setting
from cockpit_node.prune import prune
from cockpit_node.refused import Refused
from cockpit_node.threads import start
from cockpit_node.verbs import Verbs
from cockpit_node.watch import RunWatcher
from cockpit_node.wire import Message

MAX_ORDERS = 64
"""Orders in work at once; one more holds up the reading of the link, and so the operator."""
MAX_REASON = 4096
"""Characters of a refusal's sentence."""


class Greeting(NamedTuple):
    """The operator's `hello`."""

    node: str
    """This node's name in the operator's inventory."""
    client: str
    slots: int | None
    interface: str | None
    state_dir: str | None

    @classmethod
    def of(cls, message: Message) -> Greeting:
        """Raises BadOrder for anything but a `hello`."""
        if message["type"] != "hello":
            raise BadOrder(f"{message['type']!r} came before hello")
        options = table(message, "options")
        return cls(
            node=text(message, "node"),
            client=text(message, "client"),
            slots=maybe_number(options, "slots"),
            interface=maybe_text(options, "interface"),
            state_dir=maybe_text(options, "state_dir"),
        )


class Desk:
    """One operator's orders."""

    def __init__(self, verbs: Verbs, outbox: Outbox) -> None:
        self._verbs = verbs
        self._outbox = outbox
        self._room = threading.BoundedSemaphore(MAX_ORDERS)

    @classmethod
    def open(cls, message: Message, outbox: Outbox) -> Desk:
        """Answer the operator's `hello` and start everything that reports to it."""
        greeting = Greeting.of(message)
        root = paths.state_root(greeting.state_dir)
        paths.attempts(root, greeting.node)
        outbox.send(identity.hello(root, greeting.interface))
        disks = ["/", root, os.path.expanduser("~")]
        readings = Readings(Setting(greeting.node, greeting.slots, disks), _held)
        node = runs.Node(greeting.node, root, greeting.client, readings.gpu_processes)
        watcher = RunWatcher(
            lambda: paths.attempts(root, node.name),
            node.look,
            outbox.send,
        )
        follower = Follower(outbox.send_log)
        touch(own_archive())
        start("prune", lambda: prune(os.path.join(root, AGENTS), time.time()))
        readings.start()
        start("readings", lambda: _send_readings(readings, outbox))
        start("watcher", watcher.run)
        start("follower", follower.run)
        return cls(Verbs(node, readings, watcher, follower), outbox)

    def take(self, message: Message) -> None:
        """One message after `hello`. Raises BadOrder for one that no operator sends."""
        kind = message["type"]
        if kind == "credit":
            self._verbs.grant(number(message, "stream"), number(message, "bytes"))
        elif kind == "request":
            order, verb, body = number(message, "id"), text(message, "verb"), table(message, "body")
            if verb in Verbs.AT_ONCE:
                self._answer(order, verb, body)
            else:
                self._room.acquire()
                start(verb, lambda: self._answer_and_leave(order, verb, body))
        else:
            raise BadOrder(f"unknown message {kind!r}")

    def _answer_and_leave(self, order: int, verb: str, body: Body) -> None:
        try:
            self._answer(order, verb, body)
        finally:
            self._room.release()

    def _answer(self, order: int, verb: str, body: Body) -> None:
        try:
            reply = self._verbs.carry_out(verb, body)
            self._outbox.send({"type": "reply", "id": order, "ok": True, "body": reply})
        except Refused as refused:
            self._refuse(order, refused.code, refused.message, refused.retry)
        except (BadOrder, paths.BadPath) as error:
            self._refuse(order, "BadOrder", str(error), False)
        # A fault of ours must reach the operator as an answer, not as a silence.
        except Exception as error:  # noqa: BLE001
            traceback.print_exc(file=sys.stderr)
            self._refuse(order, "Fault", f"{verb} failed: {type(error).__name__}: {error}", True)

    def _refuse(self, order: int, code: str, message: str, retry: bool) -> None:
        error = {"code": code, "message": message[:MAX_REASON], "retry": retry}
        self._outbox.send({"type": "reply", "id": order, "ok": False, "error": error})


def _held(units: list[str]) -> list[dict[str, Any]]:
    return [holder._asdict() for holder in leases.holders(units).values()]


def _send_readings(readings: Readings, outbox: Outbox) -> None:
    readings.wait(EVERY_S)
    while True:
        outbox.send_reading(readings.read())
        time.sleep(EVERY_S)
