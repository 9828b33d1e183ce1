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
from cockpit.engine.ports import Nodes, Refusal, Unreachable

PREPARE_TIMEOUT_S = 120.0
"""Finding torch in an environment on a slow shared file system takes its time."""
GO_TIMEOUT_S = 15.0
ABORT_TIMEOUT_S = 60.0
ASK_TIMEOUT_S = 20.0
AGAIN_S = 5.0
"""Seconds until an order that the node refused to carry out is given again."""

_log = logging.getLogger(__name__)


class Runner:
    """One task an order; none outlives `close`."""

    def __init__(
        self, nodes: Nodes, post: Callable[[Event], None], now: Callable[[], Moment]
    ) -> None:
        self._nodes = nodes
        self._post = post
        self._now = now
        self._tasks: set[asyncio.Task[None]] = set()

    def carry_out(self, effect: order.Effect) -> None:
        match effect:
            case order.Prepare(of, spec):
                self._spawn(self._prepare(of, spec))
            case order.Go(of, port):
                self._spawn(self._go(of, port))
            case order.Confirm(of):
                self._spawn(self._tell(of.node, "confirm", _attempt(of)))
            case order.Abort(of):
                self._spawn(self._abort(of))
            case order.Stop(run, attempt, node, grace_s, reason):
                body = {"run": run, "attempt": attempt, "grace_s": grace_s, "reason": reason}
                self._spawn(self._tell(node, "stop", body))
            case order.ListCheckpoints(run, node, directory):
                self._spawn(self._list(run, node, directory))
            case order.Note():
                raise AssertionError("notes go to the store")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
        """Repeated until done while the node answers; when it comes back, the core orders it anew."""
        body = {**_attempt(of), "claim": of.claim}
        while True:
            try:
                await self._nodes.request(of.node, "abort", body, ABORT_TIMEOUT_S)
            except Refusal as refusal:
                _log.warning("%s did not undo a start: %s", of.node, refusal.message)
                await asyncio.sleep(AGAIN_S)
                continue
            except Unreachable as error:
                _log.info("%s did not answer an abort: %s", of.node, error)
                return
            self._post(Undone(of, self._now()))
            return

    async def _tell(self, node: str, verb: str, body: dict[str, Any]) -> None:
        """Orders whose effect is seen in the run's own reports; lost ones are given again."""
        try:
            await self._nodes.request(node, verb, body, ASK_TIMEOUT_S)
        except (Refusal, Unreachable) as error:
            _log.warning("%s did not take `%s`: %s", node, verb, error)

    async def _list(self, run: str, node: str, directory: str) -> None:
        try:
            reply = await self._nodes.request(
                node, "checkpoints", {"dir": directory}, ABORT_TIMEOUT_S
            )
        except (Refusal, Unreachable) as error:
            words = f"{node} could not list {directory}: {error}"
            self._post(CheckpointsListed(run, self._now(), (), words))
        else:
            found = hearsay.complete_checkpoints(reply)
            self._post(CheckpointsListed(run, self._now(), found))


def _attempt(of: Try) -> dict[str, Any]:
    return {"run": of.run, "attempt": of.attempt}
