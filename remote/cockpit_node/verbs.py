"""The verbs of docs/protocol.md: an order's body in, a reply's body out."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from cockpit_node import checkpoints, paths, records, runs
from cockpit_node.body import (
    BadOrder,
    Body,
    maybe_number,
    maybe_text,
    number,
    pairs,
    seconds,
    table,
    text,
)
from cockpit_node.follow import Follower, Stream
from cockpit_node.probe.reading import Readings
from cockpit_node.watch import RunWatcher

Reply = Dict[str, Any]

FIRST_READING_S = 10.0
"""How long a prepare waits for the first look at the GPUs, which it must not start without."""


class Verbs:
    """What one node can be asked."""

    AT_ONCE: frozenset[str] = frozenset({"follow", "unfollow"})
    """Quick, and carried out in the order they come."""

    def __init__(
        self, node: runs.Node, readings: Readings, watcher: RunWatcher, follower: Follower
    ) -> None:
        self._node = node
        self._readings = readings
        self._watcher = watcher
        self._follower = follower
        self._verbs: Mapping[str, Callable[[Body], Reply]] = {
            "prepare": self._prepare,
            "go": self._go,
            "confirm": self._confirm,
            "abort": self._abort,
            "stop": self._stop,
            "signal": self._signal,
            "runs": self._runs,
            "look": self._look,
            "follow": self._follow,
            "unfollow": self._unfollow,
            "checkpoints": self._checkpoints,
        }

    def carry_out(self, verb: str, body: Body) -> Reply:
        """Raises Refused, or BadOrder for what is no order."""
        if verb not in self._verbs:
            raise BadOrder(f"this node knows no verb {verb!r}; its cockpit is older")
        reply = self._verbs[verb](body)
        self._watcher.nudge()
        return reply

    def grant(self, stream: int, count: int) -> None:
        """Let a followed file go on."""
        self._follower.grant(stream, count)

    def _prepare(self, body: Body) -> Reply:
        # A GPU that nobody has looked at yet may be in foreign use.
        self._readings.wait(FIRST_READING_S)
        return {"port": runs.prepare(self._node, dict(table(body, "spec")))}

    def _go(self, body: Body) -> Reply:
        port = maybe_number(body, "port")
        runs.go(self._node, text(body, "run"), number(body, "attempt"), port)
        return {}

    def _confirm(self, body: Body) -> Reply:
        runs.confirm(self._node, text(body, "run"), number(body, "attempt"))
        return {}

    def _abort(self, body: Body) -> Reply:
        claim = maybe_text(body, "claim")
        runs.abort(self._node, text(body, "run"), number(body, "attempt"), claim)
        return {}

    def _stop(self, body: Body) -> Reply:
        run, attempt = text(body, "run"), number(body, "attempt")
        runs.stop(self._node, run, attempt, seconds(body, "grace_s"), text(body, "reason"))
        return {}

    def _signal(self, body: Body) -> Reply:
        run, attempt = text(body, "run"), number(body, "attempt")
        return runs.signal_ranks(self._node, run, attempt, text(body, "signal"))

    def _runs(self, body: Body) -> Reply:
        found = runs.runs(self._node, pairs(body, "of") if "of" in body else None)
        return {"runs": found}

    def _look(self, body: Body) -> Reply:
        return runs.look(self._node, text(body, "run"), number(body, "attempt"))

    def _checkpoints(self, body: Body) -> Reply:
        return checkpoints.checkpoints(text(body, "dir"))._asdict()

    def _follow(self, body: Body) -> Reply:
        run, attempt, name = text(body, "run"), number(body, "attempt"), text(body, "name")
        place = self._node.paths(run, attempt)
        stream = Stream(
            number(body, "stream"),
            lambda: _path_of(place, name),
            lambda: self._watcher.over(run, attempt),
            number(body, "offset"),
            number(body, "credit"),
        )
        self._follower.add(stream)
        return {}

    def _unfollow(self, body: Body) -> Reply:
        self._follower.remove(number(body, "stream"))
        return {}


def _path_of(place: paths.RunPaths, name: str) -> str | None:
    """The file of a stream; None until the supervisor has found it."""
    try:
        record = records.read(place.streams)
    except records.Unreadable:
        return None
    rows = records.rows(record, "streams")
    return next((str(row["path"]) for row in rows if row.get("name") == name), None)
