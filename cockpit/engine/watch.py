"""Links and readings: what the nodes' port reports becomes facts in the inbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from cockpit.core.cluster import LinkState, Moment
from cockpit.core.events import Event, LinkChanged, ReadingArrived, RunSeen
from cockpit.core.text import visible
from cockpit.engine import hearsay
from cockpit.engine.ports import (
    Body,
    NodeConnecting,
    NodeDown,
    NodeEvent,
    NodeReading,
    Nodes,
    NodeUp,
    Refusal,
    RunReported,
    Unreachable,
)

LIST_TIMEOUT_S = 20.0
LIST_AGAIN_S = 1.0
MAX_ERROR = 2000
"""Characters kept of why a node is not reached; a command in it must stay whole to be of use."""

_log = logging.getLogger(__name__)


class Watch:
    """Translates; holds no state but the look at a node's runs that is going on."""

    def __init__(
        self,
        nodes: Nodes,
        post: Callable[[Event], None],
        now: Callable[[], Moment],
        awaited: Callable[[str], Sequence[tuple[str, int]]] = lambda node: (),
    ) -> None:
        """`awaited` names the attempts whose end on a node is not known here yet."""
        self._nodes = nodes
        self._awaited = awaited
        self._post = post
        self._now = now
        self._looks: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        self._nodes.start(self._heard)

    async def close(self) -> None:
        looks = list(self._looks.values())
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)

    def _heard(self, event: NodeEvent) -> None:
        at = self._now()
        match event:
            case NodeConnecting(node, phase):
                self._post(LinkChanged(node, at, LinkState.CONNECTING, phase))
            case NodeDown(node, error, needs_person, retry_in_s):
                self._end_look(node)
                link = LinkState.REFUSED if needs_person else LinkState.UNREACHABLE
                words = visible(error, MAX_ERROR)
                self._post(LinkChanged(node, at, link, "", words, retry_in_s))
            case NodeUp(node, hello):
                self._end_look(node)
                self._post(LinkChanged(node, at, LinkState.CONNECTING, "looking at its runs"))
                look = asyncio.get_running_loop().create_task(self._look(node, hello))
                self._looks[node] = look
            case NodeReading(node, reading):
                self._post(ReadingArrived(node, at, hearsay.reading(reading)))
            case RunReported(node, state):
                report = hearsay.report(state)
                if report is not None:
                    self._post(RunSeen(node, at, report))

    def _end_look(self, node: str) -> None:
        look = self._looks.pop(node, None)
        if look is not None:
            look.cancel()

    async def _look(self, node: str, hello: Body) -> None:
        """A node counts as up once it listed its runs: nothing may start beside forgotten ones."""
        while True:
            try:
                awaited = self._awaited(node)
                of = {"of": [list(attempt) for attempt in awaited]}
                reply = await self._nodes.request(node, "runs", of, LIST_TIMEOUT_S)
            except (Refusal, Unreachable) as error:
                _log.warning("%s did not list its runs: %s", node, error)
                await asyncio.sleep(LIST_AGAIN_S)
                continue
            at = self._now()
            self._post(LinkChanged(node, at, LinkState.UP, facts=hearsay.facts(hello)))
            self._post(hearsay.runs_listed(node, at, reply, awaited))
            return
