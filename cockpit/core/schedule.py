"""In which order waiting jobs start: the oldest first, each with all its units or none."""

from __future__ import annotations

import math
from dataclasses import replace

from cockpit.core.allocate import Shortage, place
from cockpit.core.cluster import Cluster
from cockpit.core.effects import Effect, Note, Prepare
from cockpit.core.jobs import Job, JobState, Part
from cockpit.core.launch_plan import spec
from cockpit.core.moves import move, try_of, with_job
from cockpit.core.outlook import Outlook
from cockpit.core.request import BadRequest
from cockpit.core.rooms import look

_BEHIND = "Priority: behind job "

_Ask = tuple[int, int, str | None]
"""Nodes, units on each, and the node that must be one of them: what a shortage depends on."""


def start_what_fits(cluster: Cluster) -> tuple[Cluster, list[Effect]]:
    """First in, first out: a job that would fit in an emptier cluster holds back those behind it."""
    last, outlook = cluster.outlook, look(cluster)
    if last is not None and last.holds_for(outlook, cluster.now.mono):
        return replace(cluster, outlook=replace(last, nodes=outlook.nodes)), []
    known = last.blocker if last is not None and last.waiting is outlook.waiting else None
    found = _Pass(cluster, outlook)
    for job in map(cluster.roster.__getitem__, outlook.waiting):
        if found.blocker is not None and found.blocker == known and not found.someone_left:
            break
        found.consider(job)
    until = min(outlook.until, found.next_retry)
    seen = replace(outlook, blocker=found.blocker, until=until)
    return replace(found.after(), outlook=seen), found.effects


class _Pass:
    """One look at the line, from its head."""

    def __init__(self, cluster: Cluster, outlook: Outlook) -> None:
        self.cluster = cluster
        self.effects: list[Effect] = []
        self.blocker: int | None = None
        """The job that holds back all those behind it."""
        self.someone_left = False
        """A job started or failed, so that others may not say any more that they are behind it."""
        self.next_retry = math.inf
        """Monotonic seconds at which a refused job is tried again."""
        self._rooms = dict(outlook.rooms)
        self._short: dict[_Ask, int] = {}
        """The last job in line that asks for what there is not."""
        self._never: dict[_Ask, str] = {}
        self._ahead: int | None = None
        self._in_line: set[int] = set()
        self._worded: list[Job] = []
        """Those that say another reason than before."""

    def after(self) -> Cluster:
        """With all that was decided."""
        jobs = self.cluster.roster.with_jobs(*self._worded)
        return replace(self.cluster, jobs=jobs)

    def consider(self, job: Job) -> None:
        """Start a job, or say why it waits."""
        mono = self.cluster.now.mono
        if job.retry_at > mono:
            self.next_retry = min(self.next_retry, job.retry_at)
            return
        request, home = job.request, job.home if job.resume else None
        ask: _Ask = (request.nodes, request.gpus, home)
        ahead = self._short.get(ask) if self.blocker is None else self._ahead
        if ahead is not None:
            self._stays(job, ask, self._behind(job, ahead))
            return
        if ask in self._never:
            self._fail(job, self._never[ask])
            return
        placed = place(self._rooms, mono, request, home, job.nodes)
        if not isinstance(placed, Shortage):
            self._start(job, placed)
        elif placed.never:
            self._never[ask] = placed.reason
            self._fail(job, placed.reason)
        else:
            self.blocker = job.id if placed.blocks else None
            self._stays(job, ask, placed.reason)

    def _behind(self, job: Job, ahead: int) -> str:
        """What it said stays, as long as it is true: thousands of rows are not rewritten for a word."""
        named = job.reason.removeprefix(_BEHIND)
        if named != job.reason and named.isdecimal() and int(named) in self._in_line:
            return job.reason
        return f"{_BEHIND}{ahead}"

    def _stays(self, job: Job, ask: _Ask, reason: str) -> None:
        if job.reason != reason:
            self._worded.append(replace(job, reason=reason))
        self._ahead = self._short[ask] = job.id
        self._in_line.add(job.id)

    def _fail(self, job: Job, reason: str) -> None:
        failed = replace(move(job, JobState.FAILED, reason), code=1, ended=self.cluster.now.wall)
        self.cluster = with_job(self.cluster, failed)
        self.effects.append(Note(job.id, f"failed: {reason}"))
        self.someone_left = True

    def _start(self, job: Job, parts: tuple[Part, ...]) -> None:
        started = _configuring(job, parts)
        try:
            specs = [spec(self.cluster, started, part) for part in parts]
        except BadRequest as error:
            self._fail(job, str(error))
            return
        for part, told in zip(parts, specs, strict=True):
            self.effects.append(Prepare(try_of(started, part.node), told))
            room = self._rooms[part.node]
            free = tuple(unit for unit in room.free if unit[0] not in part.units)
            self._rooms[part.node] = replace(room, free=free)
        self.cluster = with_job(self.cluster, started)
        self.someone_left = True


def _configuring(job: Job, parts: tuple[Part, ...]) -> Job:
    return replace(
        move(job, JobState.CONFIGURING),
        attempt=job.attempt + 1,
        tries=job.tries + 1,
        parts=parts,
        gone=False,
        code=None,
        started=None,
        ended=None,
        phase=f"preparing 0/{len(parts)} nodes",
    )
