"""What a job is, its attempts and its parts on the nodes, and the only moves it may make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cockpit.core.request import Request


class JobState(StrEnum):
    """Where a job stands."""

    PENDING = "pending"
    CONFIGURING = "configuring"
    """Units are being leased and the launchers started, on all nodes or none."""
    RUNNING = "running"
    COMPLETING = "completing"
    """Being stopped, or waiting for the last node's proof that nothing is left."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NODE_FAIL = "node_fail"

    @property
    def code(self) -> str:
        """Slurm's short code."""
        return CODES[self]

    @property
    def is_over(self) -> bool:
        return self in OVER

    @property
    def holds_units(self) -> bool:
        return self in HOLDING


CODES: Mapping[JobState, str] = {
    JobState.PENDING: "PD",
    JobState.CONFIGURING: "CF",
    JobState.RUNNING: "R",
    JobState.COMPLETING: "CG",
    JobState.COMPLETED: "CD",
    JobState.FAILED: "F",
    JobState.CANCELLED: "CA",
    JobState.NODE_FAIL: "NF",
}
HOLDING = frozenset({JobState.CONFIGURING, JobState.RUNNING, JobState.COMPLETING})
OVER = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.NODE_FAIL})

MOVES: Mapping[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset({JobState.CONFIGURING, JobState.FAILED, JobState.CANCELLED}),
    JobState.CONFIGURING: frozenset({JobState.RUNNING, JobState.COMPLETING}),
    JobState.RUNNING: frozenset({JobState.COMPLETING, JobState.COMPLETED}),
    JobState.COMPLETING: frozenset({JobState.PENDING}) | OVER,
    **{state: frozenset({JobState.PENDING}) for state in OVER},
}
"""Every legal move. A move that is not here is a bug, never a case to handle."""


class PartState(StrEnum):
    """Where one node of an attempt stands."""

    ASKED = "asked"
    """Asked to prepare; no answer yet."""
    PREPARED = "prepared"
    STARTED = "started"
    ENDED = "ended"
    """Proven empty: exit record, undone, or lost with the node's boot."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The first rank that failed on a node."""

    rank: int | None
    code: int | None
    """Exit code; None where a signal ended it."""
    signal: str | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Exit:
    """How an attempt ended on one node."""

    code: int | None
    """Of the launcher; None is unknown, never success."""
    signal: str | None = None
    stopped: bool = False
    """It ended because it was told to."""
    reason: str = ""
    failure: Failure | None = None
    leftovers: int = 0
    """Processes that could not be ended."""
    lost: bool = False
    """No exit record will ever come: the node was started anew or counts as lost."""

    @property
    def is_success(self) -> bool:
        return self.code == 0 and not self.stopped and not self.lost


@dataclass(frozen=True, slots=True)
class Stream:
    """One followed file of a rank, or of the launcher."""

    name: str
    """`0.stdout`, `13.stderr`, `launcher.1`; unique in an attempt."""
    rank: int | None
    stream: str
    """stdout, stderr or launcher."""


@dataclass(frozen=True, slots=True)
class Part:
    """One node's share of an attempt."""

    node: str
    node_rank: int
    units: tuple[str, ...]
    indices: tuple[int, ...]
    """Of the units, in the node's own order; what CUDA_VISIBLE_DEVICES says."""
    state: PartState = PartState.ASKED
    port: int | None = None
    streams: tuple[Stream, ...] = ()
    pids: Mapping[int, int] = field(default_factory=dict)
    """Global rank -> pid on the node."""
    unsupervised: bool = False
    """Its supervisor was killed, and its processes live."""
    exit: Exit | None = None
    doubt: str = ""
    """Why the node cannot tell how it stands, in words; empty if it can."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    step: int
    path: str
    """Absolute, on the node of rank 0."""

    @property
    def words(self) -> str:
        """`step 300`; of a file whose name tells no step, its path."""
        return f"step {self.step}" if self.step else self.path


def checkpoint_at(path: str) -> Checkpoint:
    """A checkpoint that is only known by its path; the step is 0 where the name tells none."""
    digits = path.rstrip("/").rpartition("/")[2].rpartition("-")[2]
    return Checkpoint(int(digits) if digits.isdecimal() and len(digits) < 16 else 0, path)


class Resume(StrEnum):
    """From where a restart goes on, if no checkpoint is named."""

    NEWEST = "newest"
    NOTHING = "nothing"


class After(StrEnum):
    """What a job becomes once every node is proven empty."""

    OUTCOME = "outcome"
    """What its exits say."""
    CANCELLED = "cancelled"
    RESTARTED = "restarted"
    """Pending again, as the next attempt."""
    REQUEUED = "requeued"
    """Pending again: it could not be started, and waiting may help."""
    FAILED = "failed"
    """It could not be started, and waiting will not help."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training run, over all of its attempts."""

    id: int
    """The number people type; the store's own."""
    request: Request
    state: JobState = JobState.PENDING
    reason: str = ""
    """Why it waits, fails or is being stopped; for people."""
    attempt: int = 0
    """How many times it was started. Facts of another attempt are ignored."""
    tries: int = 0
    """How often a start was tried, refused ones too; makes `claim` unique."""
    parts: tuple[Part, ...] = ()
    """Of the current or last attempt, by node rank."""
    after: After = After.OUTCOME
    resume: Checkpoint | None = None
    """What the current attempt resumes from."""
    wanted: Resume | Checkpoint | None = None
    """What a restart asked for and is still being looked up; holds the job back."""
    home: str | None = None
    """Node of rank 0, where the checkpoints are; a restart goes there."""
    checkpoint: Checkpoint | None = None
    """The newest that the trainer said was complete."""
    step: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    """The newest metrics by name."""
    phase: str = ""
    """What takes time just now, as the trainer or the engine says."""
    code: int | None = None
    """Exit code of the job: 128+n for a signal, 130 cancelled; None while it is not over."""
    submitted: float = 0.0
    """Unix seconds."""
    started: float | None = None
    """Unix seconds; of the current attempt."""
    ended: float | None = None
    gone: bool = True
    """The attempt was told to go: its number is spent. False only while it is being prepared."""
    grace_s: int | None = None
    """Seconds between TERM and KILL of the stop that goes on; None while none does."""
    stop_at: float | None = None
    """Monotonic seconds at which that stop began."""
    retry_at: float = 0.0
    """Monotonic seconds before which it is not tried again, after a refusal."""

    @property
    def run(self) -> str:
        return self.request.run

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(part.node for part in self.parts)

    @property
    def claim(self) -> str:
        """Id of this try to start the attempt; a refused try costs no attempt number."""
        return f"{self.attempt}.{self.tries}"

    @property
    def spent(self) -> int:
        """The newest attempt that was told to go; a start that was taken back before costs none."""
        return self.attempt if self.gone else self.attempt - 1

    @property
    def ranks(self) -> int:
        """World size."""
        return self.request.nodes * self.request.gpus

    @property
    def is_empty(self) -> bool:
        """Every node proved that nothing of the attempt is left."""
        return all(part.state is PartState.ENDED for part in self.parts)

    def part(self, node: str) -> Part | None:
        return next((part for part in self.parts if part.node == node), None)

    def rank_of(self, node: str, unit: str) -> int | None:
        """Global rank on a unit, if this job holds it."""
        part = self.part(node)
        if part is None or unit not in part.units:
            return None
        return part.node_rank * self.request.gpus + part.units.index(unit)
