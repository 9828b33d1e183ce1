"""Logs straight from the nodes, for a command that runs while no engine does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from cockpit.build.links import Look, looking
from cockpit.build.place import Place
from cockpit.core.jobs import Job, Part, Stream
from cockpit.engine import hearsay
from cockpit.engine.ports import (
    Appended,
    Ended,
    FollowEvent,
    FollowHandle,
    LinkEnded,
    Refusal,
    Replaced,
    Unreachable,
)
from cockpit.engine.spool import Line
from cockpit.engine.spool.reader import LINE_BYTES
from cockpit.engine.spool.streams import read_entries

CONNECT_S = 30.0
LOOK_S = 20.0
QUIET_S = 1.0
"""Without `follow`: what did not come within this after the last line is not waited for."""
CREDIT = 1024 * 1024


@dataclass(slots=True, eq=False)
class _Tail:
    part: Part
    stream: Stream
    lines: asyncio.Queue[Line | None]
    """None wakes whoever waits: a stream is over."""
    rest: bytes = b""
    """The line that has no LF yet, as far as it is shown."""
    hidden: int = 0
    """Bytes of that line beyond `rest`."""
    handle: FollowHandle | None = None
    owed: int = 0
    """Bytes not granted back yet."""
    is_over: bool = False
    """Nothing more of it comes."""

    def heard(self, event: FollowEvent) -> None:
        match event:
            case Appended(_, data):
                first, *others = data.split(b"\n")
                self._extend(first)
                for text in others:
                    self._end_line()
                    self._extend(text)
                self.owed += len(data)
                if self.handle is not None:
                    self.handle.grant(self.owed)
                    self.owed = 0
            case Replaced(message):
                self.rest, self.hidden = message.encode(), 0
                self._end_line()
            case Ended():
                self._end()
            case LinkEnded(reason):
                self._end()
                self.rest = f"ends here: {reason}; ask again for the rest".encode()
                self._end_line()

    def _end(self) -> None:
        if self.rest:
            self._end_line()
        self.is_over = True
        self.lines.put_nowait(None)

    def _extend(self, text: bytes) -> None:
        room = LINE_BYTES - len(self.rest)
        self.rest += text[:room]
        self.hidden += max(0, len(text) - room)

    def _end_line(self) -> None:
        name, node, rank = self.stream.name, self.part.node, self.stream.rank
        self.lines.put_nowait(Line(name, node, rank, self.rest, self.hidden))
        self.rest, self.hidden = b"", 0


async def direct_lines(place: Place, job: Job, follow: bool) -> AsyncIterator[Line]:
    """Lines after those in the spool, until every stream ended; without `follow`, those that are there."""
    kept = _kept(place, job)
    async with looking(place) as look:
        await look.settled(CONNECT_S)
        async for line in lines_from(look, job, kept, follow):
            yield line


async def lines_from(
    look: Look, job: Job, kept: Mapping[str, int], follow: bool
) -> AsyncIterator[Line]:
    """Of every stream from the byte on up to which it is kept."""
    lines: asyncio.Queue[Line | None] = asyncio.Queue()
    tails: list[_Tail] = []
    for part in job.parts:
        for stream in await _streams(look, job, part):
            tail = _Tail(part, stream, lines)
            tails.append(tail)
            await _open(look, job, tail, kept.get(stream.name, 0))
    while not (lines.empty() and all(tail.is_over for tail in tails)):
        try:
            async with asyncio.timeout(None if follow else QUIET_S):
                line = await lines.get()
        except TimeoutError:
            return
        if line is not None:
            yield line


async def _streams(look: Look, job: Job, part: Part) -> Sequence[Stream]:
    """What the node has now: the engine may have ended before it heard of any stream."""
    body = {"run": job.run, "attempt": job.attempt}
    try:
        state = await look.nodes.request(part.node, "look", body, LOOK_S)
    except (Refusal, Unreachable):
        return part.streams  # To follow them is refused for the same reason, which is then told.
    report = hearsay.report(state)
    return report.streams if report is not None and report.streams else part.streams


async def _open(look: Look, job: Job, tail: _Tail, offset: int) -> None:
    """Follow the stream, or end it with a line that says why not."""
    body = {
        "run": job.run,
        "attempt": job.attempt,
        "name": tail.stream.name,
        "offset": offset,
        "credit": CREDIT,
    }
    try:
        tail.handle = await look.nodes.follow(tail.part.node, body, tail.heard)
    except (Refusal, Unreachable) as error:
        if not tail.is_over:
            tail.heard(Replaced(f"cannot be read: {error}"))
            tail.heard(Ended(offset))
        return
    tail.handle.grant(tail.owed)
    tail.owed = 0


def _kept(place: Place, job: Job) -> dict[str, int]:
    """Bytes of each stream that are in the spool."""
    directory = place.paths.spool(job.run, job.attempt)
    entries, _ = read_entries(directory)
    sizes: dict[str, int] = {}
    for entry in entries.values():
        path = directory / entry.file
        sizes[entry.name] = os.path.getsize(path) if path.exists() else 0
    return sizes
