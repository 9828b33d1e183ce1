"""Facts that reach the core, named in the past tense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.core.cluster import LinkState, Moment, NodeFacts, Reading
from cockpit.core.jobs import Checkpoint, Exit, Resume, Stream
from cockpit.core.request import Request


@dataclass(frozen=True, slots=True)
class EngineStarted:
    at: Moment


@dataclass(frozen=True, slots=True)
class Ticked:
    at: Moment


@dataclass(frozen=True, slots=True)
class LinkChanged:
    node: str
    at: Moment
    link: LinkState
    phase: str = ""
    error: str | None = None
    retry_in_s: float | None = None
    facts: NodeFacts | None = None


@dataclass(frozen=True, slots=True)
class ReadingArrived:
    node: str
    at: Moment
    reading: Reading


@dataclass(frozen=True, slots=True)
class JobSubmitted:
    job: int
    at: Moment
    request: Request
    submitted: float
    """Unix seconds by the submitter's clock; no engine may have run since."""


@dataclass(frozen=True, slots=True)
class CancelOrdered:
    job: int
    at: Moment
    grace_s: int | None = None
    """None is the job's own."""
    forsake: bool = False
    """A person says that the nodes which do not answer will not come back."""


@dataclass(frozen=True, slots=True)
class RestartOrdered:
    job: int
    at: Moment
    wanted: Resume | Checkpoint = Resume.NEWEST


@dataclass(frozen=True, slots=True)
class Try:
    """Which try to start which attempt a fact is about."""

    run: str
    attempt: int
    claim: str
    node: str


@dataclass(frozen=True, slots=True)
class Prepared:
    of: Try
    port: int | None


@dataclass(frozen=True, slots=True)
class StartRefused:
    """Prepare or go was answered by no, or by nothing."""

    of: Try
    at: Moment
    message: str
    retry: bool


@dataclass(frozen=True, slots=True)
class Started:
    of: Try
    at: Moment


@dataclass(frozen=True, slots=True)
class Undone:
    """Nothing of this try is left on the node."""

    of: Try
    at: Moment


@dataclass(frozen=True, slots=True)
class Report:
    """What a node says of one attempt there."""

    run: str
    attempt: int
    state: str
    """As in docs/protocol.md, RunState."""
    streams: tuple[Stream, ...] = ()
    pids: tuple[tuple[int, int], ...] = ()
    """(global rank, pid)"""
    exit: Exit | None = None
    message: str = ""
    """What the node could not read, or how it knows, in words."""


@dataclass(frozen=True, slots=True)
class RunSeen:
    node: str
    at: Moment
    report: Report


@dataclass(frozen=True, slots=True)
class RunsListed:
    """What a node knows of the attempts that it was asked about, and of all that are not over."""

    node: str
    at: Moment
    reports: tuple[Report, ...]
    of: frozenset[tuple[str, int]] | None = None
    """The attempts (run, number) that it was asked about; None is all there are."""
    is_whole: bool = True
    """Nothing was left out, so that what is absent is not there."""

    def proves_absent(self, run: str, attempt: int) -> bool:
        """Silence proves nothing, a whole list does."""
        asked = self.of is None or (run, attempt) in self.of
        told = any((report.run, report.attempt) == (run, attempt) for report in self.reports)
        return self.is_whole and asked and not told


@dataclass(frozen=True, slots=True)
class CheckpointsListed:
    run: str
    at: Moment
    complete: tuple[Checkpoint, ...]
    """Newest step first."""
    error: str | None = None
    """Why the node could not say."""


@dataclass(frozen=True, slots=True)
class MetricsLogged:
    run: str
    attempt: int
    step: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CheckpointLogged:
    run: str
    attempt: int
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class PhaseLogged:
    run: str
    attempt: int
    phase: str


Event = (
    EngineStarted
    | Ticked
    | LinkChanged
    | ReadingArrived
    | JobSubmitted
    | CancelOrdered
    | RestartOrdered
    | Prepared
    | StartRefused
    | Started
    | Undone
    | RunSeen
    | RunsListed
    | CheckpointsListed
    | MetricsLogged
    | CheckpointLogged
    | PhaseLogged
)
