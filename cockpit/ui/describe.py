"""All that is known of a job, a node or a unit, as labelled lines for people; safe to show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cockpit.core.cluster import Cluster, Gpu, Node
from cockpit.core.figures import counted
from cockpit.core.jobs import Checkpoint, Exit, Job, Part
from cockpit.core.secrets import redacted
from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.standing import Holder, Standing, age_s

Fact = tuple[str, str]
"""Label and words."""


def job(cluster: Cluster, job: Job) -> list[Fact]:
    """Request, place, progress and end of a job."""
    facts = [(label, visible(words)) for label, words in _job(cluster, job) if words]
    return facts + [(f"on {visible(part.node)}", visible(_part(part))) for part in job.parts]


def _job(cluster: Cluster, job: Job) -> Iterator[Fact]:
    request, ranks = job.request, counted(job.request.gpus, "rank")
    yield "state", f"{job.state.value} ({job.state.code}), attempt {job.attempt}"
    yield "why", job.reason
    yield "now", job.phase
    yield "step", "" if job.step is None else f"{job.step:,}"
    yield "metrics", "  ".join(f"{name} {value:.6g}" for name, value in job.values.items())
    yield "command", shlex.join(request.argv)
    yield "shape", f"{request.shape}: {counted(request.nodes, 'node')}, {ranks} on each"
    yield "workdir", request.workdir or ""
    yield "python", request.python or ""
    yield "venv", request.venv or ""
    yield "setup", "; ".join(request.setup)
    pairs = ((key, redacted(key, value)) for key, value in request.env.items())
    yield "env", " ".join(f"{key}={shlex.quote(value)}" for key, value in pairs)
    yield "grace", f"{request.grace_s} s"
    yield "submitted", f"{wording.day(job.submitted)} by {request.user or '?'}"
    yield "started", "" if job.started is None else wording.day(job.started)
    yield "ended", "" if job.ended is None else f"{wording.day(job.ended)}, exit code {job.code}"
    yield "resumed from", _checkpoint(job.resume)
    yield "checkpoint", _checkpoint(job.checkpoint)
    yield "run id", job.run


def _checkpoint(checkpoint: Checkpoint | None) -> str:
    return "" if checkpoint is None else f"step {checkpoint.step:,}, {checkpoint.path}"


def _part(part: Part) -> str:
    units = ",".join(map(str, part.indices))
    words = f"{part.state.value}, units {units}"
    if part.unsupervised:
        words += ", its supervisor is gone"
    return f"{words}; {_exit(part.exit)}" if part.exit else words


def _exit(end: Exit) -> str:
    how = f"exit code {end.code}" if end.signal is None else f"ended by {end.signal}"
    if end.failure:
        rank = "?" if end.failure.rank is None else end.failure.rank
        how += f", rank {rank} failed first: {end.failure.message}"
    if end.leftovers:
        how += f", {counted(end.leftovers, 'process', 'processes')} could not be ended"
    return f"{how} {end.reason}".strip()


def node(cluster: Cluster, node: Node) -> list[Fact]:
    """Link, machine and last reading of a node."""
    return [(label, visible(words)) for label, words in _node(cluster, node) if words]


def _node(cluster: Cluster, node: Node) -> Iterator[Fact]:
    yield "link", f"{node.link.value} since {wording.clock(node.changed.wall)}"
    yield "now", node.phase
    yield "error", node.error or ""
    age = age_s(cluster, node)
    yield "last reading", "none yet" if age is None else f"{wording.duration(age)} ago"
    if facts := node.facts:
        yield (
            "host",
            f"{facts.user}@{facts.hostname}, {counted(facts.cores, 'core')}, {facts.python}",
        )
        yield "data plane", f"{facts.address} on {facts.interface}"
        yield "kept in", facts.state_root
    if reading := node.reading:
        yield "load", " ".join(f"{value:.2f}" for value in reading.load)
        if reading.disk_free_bytes is not None:
            yield "disk free", wording.size(reading.disk_free_bytes)
        yield "GPUs", reading.gpu_message or f"{len(reading.gpus)} by {reading.gpu_source}"
        for lease in reading.leases:
            yield f"lease {lease.unit}", f"{lease.user}: {lease.name or lease.run}"


def unit(standing: Standing) -> list[Fact]:
    """One GPU or slot and the processes on it."""
    gpu = standing.unit.gpu
    facts = [("unit", standing.unit.id), ("held by", holder(standing))]
    facts += [] if gpu is None else [("GPU", gpu_words(gpu)), ("error", gpu.error or "")]
    for process in gpu.processes if gpu else ():
        memory = "" if process.memory_bytes is None else f", {wording.size(process.memory_bytes)}"
        facts.append((f"pid {process.pid}", f"{process.user or '?'}{memory}"))
    return [(label, visible(words)) for label, words in facts if words]


def holder(standing: Standing) -> str:
    match standing.holder:
        case Holder.JOB:
            return f"job {standing.job}, rank {standing.rank}"
        case Holder.OTHERS:
            return f"{standing.user}, not a job of this cockpit"
        case Holder.SICK:
            return "nobody: it is sick" if standing.job is None else f"job {standing.job}, sick"
        case Holder.FREE:
            return "nobody"


def gpu_words(gpu: Gpu) -> str:
    """Figures of a GPU with their units; what is unknown is left out."""
    words = [f"{gpu.name or 'GPU'}{' (simulated)' if gpu.simulated else ''}"]
    words += [] if gpu.used_pct is None else [f"util {gpu.used_pct:.0f}%"]
    if gpu.memory_used_bytes is not None and gpu.memory_total_bytes:
        used, total = wording.size(gpu.memory_used_bytes), wording.size(gpu.memory_total_bytes)
        words.append(f"memory {used} of {total}")
    words += [] if gpu.temperature_c is None else [f"{gpu.temperature_c:.0f} °C"]
    if gpu.power_w is not None:
        limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
        words.append(f"{gpu.power_w:.0f}{limit} W")
    return "  ".join(words)
