"""Carries out the core's orders on the nodes, and reports what came of each as a fact."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from cockpit.core import effects as order
from cockpit.core.cluster import Moment
from cockpit.core.events import (
    CheckpointsListed,
    Event,
    Prepared,
    Started,
    StartRefused,
    Try,
    Undone,
)
from cockpit.engine import hearsay
from cockpit.engine.ports import Body, Nodes, Refusal, Unreachable

PREPARE_TIMEOUT_S = 120.0
"""Finding torch in an environment on a slow shared file system takes its time."""
GO_TIMEOUT_S = 15.0
ASK_TIMEOUT_S = 60.0
AGAIN_S = 5.0
"""Seconds until an order that was not taken is given again."""

_log = logging.getLogger(__name__)


class Runner:
    """One task an order; none outlives `close`."""

    def __init__(
        self,
        nodes: Nodes,
        post: Callable[[Event], None],
        now: Callable[[], Moment],
        again_s: float = AGAIN_S,
    ) -> None:
        self._nodes = nodes
        self._post = post
        self._now = now
        self._again_s = again_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._repeating: dict[object, asyncio.Task[None]] = {}
        """Orders that are given until they are taken; a newer one of its kind takes its place."""

    def carry_out(self, effect: order.Effect) -> None:
        match effect:
            case order.Prepare(of, spec):
                self._spawn(self._prepare(of, spec))
            case order.Go(of, port):
                self._spawn(self._go(of, port))
            case order.Confirm(of):
                self._repeat(("confirm", of), self._confirm(of))
            case order.Abort(of):
                self._repeat(("abort", of), self._abort(of))
            case order.Stop():
                self._repeat(("stop", effect.run, effect.attempt, effect.node), self._stop(effect))
            case order.ListCheckpoints(run, node, directory):
                self._spawn(self._list(run, node, directory))
            case order.Note():
                raise AssertionError("notes go to the store")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _repeat(self, key: object, work: Coroutine[Any, Any, None]) -> None:
        before = self._repeating.get(key)
        if before is not None:
            before.cancel()
        task = self._repeating[key] = self._spawn(work)
        task.add_done_callback(lambda done: self._forget(key, done))

    def _forget(self, key: object, done: asyncio.Task[None]) -> None:
        if self._repeating.get(key) is done:
            del self._repeating[key]

    async def _prepare(self, of: Try, spec: Any) -> None:
        try:
            reply = await self._nodes.request(of.node, "prepare", {"spec": spec}, PREPARE_TIMEOUT_S)
        except Refusal as refusal:
            words = f"{refusal.code}: {hearsay.text(refusal.message)}"
            self._post(StartRefused(of, self._now(), words, refusal.retry))
        except Unreachable as error:
            self._post(StartRefused(of, self._now(), f"no answer ({error})", retry=True))
        else:
            self._post(Prepared(of, hearsay.whole(reply.get("port"))))

    async def _go(self, of: Try, port: int | None) -> None:
        try:
            await self._nodes.request(of.node, "go", {**_attempt(of), "port": port}, GO_TIMEOUT_S)
        except Refusal as refusal:
            words = f"{refusal.code}: {hearsay.text(refusal.message)}"
            self._post(StartRefused(of, self._now(), words, retry=refusal.retry))
        except Unreachable as error:
            self._post(StartRefused(of, self._now(), f"no answer ({error})", retry=True))
        else:
            self._post(Started(of, self._now()))

    async def _abort(self, of: Try) -> None:
        await self._until_taken(of.node, "abort", {**_attempt(of), "claim": of.claim})
        self._post(Undone(of, self._now()))

    async def _confirm(self, of: Try) -> None:
        """Its effect is seen in the run's own reports; a run that is over cannot take it."""
        try:
            await self._until_answered(of.node, "confirm", _attempt(of))
        except Refusal as refusal:
            _log.warning("%s did not take `confirm`: %s", of.node, refusal.message)

    async def _stop(self, stop: order.Stop) -> None:
        """Its effect is seen in the run's own reports. Refused, the node is looked at anew first."""
        body = {
            "run": stop.run,
            "attempt": stop.attempt,
            "grace_s": stop.grace_s,
            "reason": stop.reason,
        }
        try:
            await self._until_answered(stop.node, "stop", body)
        except Refusal as refusal:
            _log.warning("%s did not take `stop`: %s", stop.node, refusal.message)
            await asyncio.sleep(self._again_s)
            of = (stop.run, stop.attempt)
            reply = await self._until_taken(stop.node, "runs", {"of": [list(of)]})
            self._post(hearsay.runs_listed(stop.node, self._now(), reply, [of]))

    async def _until_taken(self, node: str, verb: str, body: Body) -> Body:
        """Give an order until the node carried it out."""
        while True:
            try:
                return await self._until_answered(node, verb, body)
            except Refusal as refusal:
                _log.warning("%s did not take `%s`: %s", node, verb, refusal.message)
                await asyncio.sleep(self._again_s)

    async def _until_answered(self, node: str, verb: str, body: Body) -> Body:
        """Give an order until there is an answer, over as many links as it takes. Raises Refusal."""
        while True:
            try:
                return await self._nodes.request(node, verb, body, ASK_TIMEOUT_S)
            except Unreachable as error:
                _log.info("%s did not answer `%s`: %s", node, verb, error)
                await asyncio.sleep(self._again_s)

    async def _list(self, run: str, node: str, directory: str) -> None:
        try:
            reply = await self._nodes.request(
                node, "checkpoints", {"dir": directory}, ASK_TIMEOUT_S
            )
        except (Refusal, Unreachable) as error:
            words = f"{node} could not list {directory}: {error}"
            self._post(CheckpointsListed(run, self._now(), (), words))
        else:
            found = hearsay.complete_checkpoints(reply)
            self._post(CheckpointsListed(run, self._now(), found))


def _attempt(of: Try) -> dict[str, Any]:
    return {"run": of.run, "attempt": of.attempt}
