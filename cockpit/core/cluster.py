"""What exists: nodes, their units (GPUs or CPU slots), and the last thing each of them said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cockpit.core.jobs import Job
from cockpit.core.outlook import Outlook
from cockpit.core.roster import Roster


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was learned, by this machine's two clocks."""

    wall: float = 0.0
    """Unix seconds; shown to people and nothing else."""
    mono: float = 0.0
    """Seconds of the monotonic clock; the only one that timeouts and ages may use."""


class LinkState(StrEnum):
    """How a node is reached just now."""

    CONNECTING = "connecting"
    UP = "up"
    UNREACHABLE = "unreachable"
    """No answer; tried again by itself. Says nothing about the jobs there."""
    REFUSED = "refused"
    """A person is needed: host key, login, no python3."""


AWAY = frozenset({LinkState.UNREACHABLE, LinkState.REFUSED})
"""States that trying again does not end; only an answer does."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    pid: int
    user: str | None
    memory_bytes: int | None
    run: str | None
    """The marker `<run>/<attempt>/<node>` of a job's process; None is someone else's."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One reading of one GPU; None is unknown, never 0."""

    uuid: str
    index: int
    name: str | None = None
    simulated: bool = False
    used_pct: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    processes: tuple[GpuProcess, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A unit that some cockpit's supervisor holds on the node."""

    unit: str
    run: str
    attempt: int
    user: str
    name: str
    since: float | None = None
    """Unix seconds by the node's clock."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One second of one node; None is unknown."""

    seq: int
    time: float | None = None
    """Unix seconds by the node's clock."""
    uptime_s: float | None = None
    cpu_used_pct: float | None = None
    cpu_cores: int | None = None
    load: tuple[float, ...] = ()
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    received_bytes_per_s: float | None = None
    sent_bytes_per_s: float | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_source: str = "none"
    gpu_message: str | None = None
    """Why there are no GPU readings, in words."""
    slots: int | None = None
    leases: tuple[Lease, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """What is allocated: a GPU, or a CPU slot where there is none."""

    id: str
    """GPU uuid, or `slot-N`."""
    index: int
    gpu: Gpu | None = None

    @property
    def kind(self) -> str:
        return "gpu" if self.gpu else "slot"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node says of itself when the link comes up."""

    hostname: str = ""
    user: str = ""
    python: str = ""
    boot_id: str = ""
    state_root: str = ""
    address: str = ""
    """IPv4 address of the data plane, which peers use to meet."""
    interface: str = ""
    """Network interface that holds `address`."""
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the inventory says for jobs on a node that say nothing themselves."""

    python: str | None = None
    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pinned_interface: bool = False
    """True where the inventory names the interface, so that NCCL is told too."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    defaults: Defaults = field(default_factory=Defaults)
    link: LinkState = LinkState.CONNECTING
    phase: str = "connecting"
    """What takes time just now, in words."""
    error: str | None = None
    """Why it is not up, in words, with what to do."""
    retry_in_s: float | None = None
    """Seconds from `changed` to the next try."""
    changed: Moment = field(default_factory=Moment)
    """When `link` last changed."""
    facts: NodeFacts | None = None
    reading: Reading | None = None
    """The last good one; grey out by its age."""
    read_at: Moment | None = None
    most_gpus: int = 0
    """The most GPUs that it ever showed; one that is missing from a reading is not gone for good."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """Everything that can be allocated here, in the order of its index; empty until read."""
        if self.reading is None:
            return ()
        if self.reading.gpus:
            return tuple(Unit(gpu.uuid, gpu.index, gpu) for gpu in self.reading.gpus)
        return tuple(Unit(f"slot-{n}", n) for n in range(self.reading.slots or 0))

    @property
    def capacity(self) -> tuple[int, str]:
        """How many units there are, and of which kind: `gpu` or `slot`."""
        units = self.units
        return len(units), units[0].kind if units else "slot"

    @property
    def is_up(self) -> bool:
        return self.link is LinkState.UP and self.reading is not None


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Everything a screen may show. Replaced whole, never changed in place."""

    name: str = "lab"
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """In the order of the inventory, which is the order of ranks."""
    jobs: Mapping[int, Job] = field(default_factory=dict)
    """By the number people type, oldest first; always a Roster, whatever it was made of."""
    now: Moment = field(default_factory=Moment)
    """The last tick."""
    began: Moment = field(default_factory=Moment)
    """When this engine did: since then a node that left the inventory is silent."""
    outlook: Outlook | None = None
    """What the last pass over the queue saw."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", Roster.of(self.jobs))

    @property
    def roster(self) -> Roster:
        """`jobs`, with those that matter now at hand."""
        assert isinstance(self.jobs, Roster)
        return self.jobs
