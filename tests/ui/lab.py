"""Clusters to look at: nodes, GPUs, jobs and troubles of many kinds, made without any node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from cockpit.core.cluster import (
    Cluster,
    Gpu,
    GpuProcess,
    LinkState,
    Moment,
    Node,
    NodeFacts,
    Reading,
    Unit,
)
from cockpit.core.jobs import Checkpoint, Job, JobState, Part, PartState
from cockpit.core.request import Request

WALL = 1_764_500_000.0
MONO = 5_000.0
GIB = 1 << 30
HOSTILE = "x[/] \x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07[red]\x9b31m\u202e"
CHINESE = "节点一"


def run_id(number: int) -> str:
    return f"01JTEST{number:019}"


def gpu(node: str, index: int, used: float = 0.0, simulated: bool = False) -> Gpu:
    return Gpu(
        uuid=f"{'SIM' if simulated else 'GPU'}-{node}-{index}",
        index=index,
        name="NVIDIA H100 80GB HBM3",
        simulated=simulated,
        used_pct=used,
        memory_used_bytes=int(used * 0.75) * GIB,
        memory_total_bytes=80 * GIB,
        temperature_c=35 + used / 4,
        power_w=90 + used * 5,
        power_limit_w=700,
    )


def reading(gpus: tuple[Gpu, ...] = (), slots: int | None = None, seq: int = 1) -> Reading:
    return Reading(
        seq=seq,
        time=WALL,
        uptime_s=12.5 * 86400,
        cpu_used_pct=34,
        cpu_cores=64,
        memory_used_bytes=410 * GIB,
        memory_total_bytes=1007 * GIB,
        received_bytes_per_s=8e8,
        sent_bytes_per_s=1.2e9,
        gpus=gpus,
        gpu_source="nvml" if gpus else "none",
        gpu_message=None if gpus else "no GPU: libnvidia-ml.so.1 was not found",
        slots=slots,
    )


def node(name: str, gpus: tuple[Gpu, ...] = (), slots: int | None = None) -> Node:
    return Node(
        name=name,
        link=LinkState.UP,
        phase="",
        changed=Moment(WALL - 600, MONO - 600),
        facts=NodeFacts(
            name, "me", "/usr/bin/python3", "boot", "/home/me/.local", "10.0.0.1", "eth0", 64
        ),
        reading=reading(gpus, slots),
        read_at=Moment(WALL, MONO),
    )


def job(number: int, nodes: tuple[Node, ...] = (), gpus: int = 8, **fields: object) -> Job:
    """A running job on all units of some nodes, or a pending one without nodes."""
    parts = tuple(
        Part(
            one.name,
            rank,
            tuple(unit.id for unit in one.units[:gpus]),
            tuple(unit.index for unit in one.units[:gpus]),
            PartState.STARTED,
            pids={rank * gpus + n: 41_000 + rank * gpus + n for n in range(gpus)},
        )
        for rank, one in enumerate(nodes)
    )
    request = Request(
        run=run_id(number),
        argv=("train.py", "--lr", "3e-4"),
        name=f"llama-{number}b",
        user="me",
        nodes=len(nodes) or 2,
        gpus=gpus,
        workdir="/data/llama",
        env={"WANDB_MODE": "offline"},
    )
    running = Job(
        id=number,
        request=request,
        state=JobState.RUNNING if nodes else JobState.PENDING,
        reason="" if nodes else "Resources: needs 2x8 GPUs, free 1x5",
        attempt=1 if nodes else 0,
        parts=parts,
        home=nodes[0].name if nodes else None,
        checkpoint=Checkpoint(41_000, "/ckpt/step-41000") if nodes else None,
        step=41_200 if nodes else None,
        values={"loss": 2.113, "tokens_per_s": 128_000.0} if nodes else {},
        submitted=WALL - 4000 + number,
        started=WALL - 3000 if nodes else None,
    )
    return replace(running, **fields)  # type: ignore[arg-type]  # fields of Job, by name


def cluster(nodes: Mapping[str, Node], *jobs: Job, now: float = MONO) -> Cluster:
    return Cluster("lab", dict(nodes), {one.id: one for one in jobs}, Moment(WALL, now))


def lab(count: int = 4, gpus: int = 8) -> Cluster:
    """A job on the first half, someone else and a sick GPU on the third node, the last one dead."""
    nodes: dict[str, Node] = {}
    for number in range(1, count + 1):
        name = f"gpu{number}"
        busy = number <= count // 2 or number == count
        load = tuple(gpu(name, n, 97.0 - n if busy else 0.0) for n in range(gpus))
        nodes[name] = node(name, load)
    names = list(nodes)
    jobs = [job(1, tuple(nodes[name] for name in names[: max(1, count // 2)]), gpus)]
    if count > 2:
        nodes[names[-2]] = with_troubles(nodes[names[-2]])
        dead = nodes[names[-1]]
        jobs.append(job(2, (dead,), gpus, attempt=3))
        nodes[names[-1]] = replace(
            dead,
            link=LinkState.UNREACHABLE,
            error="no answer to a ping for 15 s",
            retry_in_s=49.0,
            changed=Moment(WALL - 41, MONO - 41),
            read_at=Moment(WALL - 41, MONO - 41),
        )
    jobs += [job(3), job(4, submitted=WALL - 60.0)]
    over = JobState.FAILED
    why = "rank 13 on gpu2 exited with 1"
    jobs.append(job(5, state=over, attempt=2, reason=why, code=1, ended=WALL - 9))
    return cluster(nodes, *jobs)


def with_troubles(one: Node) -> Node:
    """Two GPUs of someone else's and one that is sick."""
    assert one.reading is not None
    gpus = list(one.reading.gpus)
    for place, used in ((2, 12.0), (3, 0.0)):
        process = GpuProcess(999 + place, "alice", 38 * GIB, None)
        gpus[place] = replace(
            gpus[place], used_pct=used, memory_used_bytes=38 * GIB, processes=(process,)
        )
    gpus[5] = replace(gpus[5], error="Xid 79: GPU has fallen off the bus", used_pct=None)
    return replace(one, reading=replace(one.reading, gpus=tuple(gpus)))


def moved(before: Cluster, tick: int) -> Cluster:
    """One second later: every GPU that worked works a little differently."""
    nodes = {}
    for name, one in before.nodes.items():
        if one.link is not LinkState.UP or one.reading is None:
            nodes[name] = one
            continue
        gpus = tuple(_wave(item, tick + place) for place, item in enumerate(one.reading.gpus))
        now = Moment(WALL + tick, MONO + tick)
        nodes[name] = replace(one, reading=replace(one.reading, seq=tick, gpus=gpus), read_at=now)
    return replace(before, nodes=nodes, now=Moment(WALL + tick, MONO + tick))


def _wave(item: Gpu, phase: int) -> Gpu:
    if not item.used_pct:
        return item
    return replace(item, used_pct=85 + 14 * math.sin(phase), power_w=600 + 60 * math.sin(phase))


def renamed(before: Cluster, name: str) -> Cluster:
    """The same cluster whose every foreign string is `name`."""
    nodes = {f"{name}{n}": one for n, one in enumerate(before.nodes.values())}
    units: dict[str, tuple[Unit, ...]] = {}
    found: dict[str, Node] = {}
    for key, one in nodes.items():
        assert one.reading is not None
        gpus = tuple(
            replace(
                item,
                name=name,
                error=name if item.error else None,
                processes=tuple(replace(p, user=name) for p in item.processes),
            )
            for item in one.reading.gpus
        )
        text = replace(one.reading, gpus=gpus)
        found[key] = replace(one, name=key, reading=text, error=name, phase=name)
        units[key] = found[key].units
    olds = dict(zip(before.nodes, nodes, strict=True))
    jobs = {
        number: replace(
            one,
            reason=name,
            phase=name,
            parts=tuple(replace(part, node=olds[part.node]) for part in one.parts),
        )
        for number, one in before.jobs.items()
    }
    return replace(before, name=name, nodes=found, jobs=jobs)
