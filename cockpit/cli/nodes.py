"""`cockpit nodes`: every node with its GPUs, read over links of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import open_store
from cockpit.cli.say import NO_CONNECTION, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.cluster import Cluster, Node, Unit
from cockpit.core.jobs import Job
from cockpit.core.rooms import occupied

CONNECT_S = 30.0
_FACTS = ("hostname", "address", "interface")
_READING = (
    "uptime_s",
    "cpu_used_pct",
    "cpu_cores",
    "load",
    "memory_used_bytes",
    "memory_total_bytes",
    "disk_free_bytes",
    "disk_total_bytes",
    "received_bytes_per_s",
    "sent_bytes_per_s",
    "gpu_source",
    "gpu_message",
)
_GPU = (
    "name",
    "used_pct",
    "memory_used_bytes",
    "memory_total_bytes",
    "temperature_c",
    "power_w",
    "power_limit_w",
    "error",
)
"""Fields of core.cluster that stand in the JSON under their own names."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a node.")
@click.pass_obj
def nodes(setting: Setting, as_json: bool) -> int:
    """Show every node: GPUs, who holds them, memory, load; 255 if one does not answer."""
    place = setting.place()
    with open_store(place) as store:
        jobs, _ = store.jobs()
    cluster = asyncio.run(_look(place))
    cluster = Cluster(cluster.name, cluster.nodes, jobs, cluster.now)
    for node in cluster.nodes.values():
        if as_json:
            put_json(_record(cluster, node))
        else:
            for line in _lines(cluster, node):
                put(line)
    return 0 if all(node.is_up for node in cluster.nodes.values()) else NO_CONNECTION


async def _look(place: Place) -> Cluster:
    from cockpit.build.links import looking

    async with looking(place) as look:
        return await look.settled(CONNECT_S)


def _record(cluster: Cluster, node: Node) -> dict[str, Any]:
    """The contract of `nodes --json` (docs/cli.md); null is unknown."""
    return {
        "node": node.name,
        "link": node.link.value,
        "error": node.error,
        **{key: getattr(node.facts, key, None) for key in _FACTS},
        **{key: getattr(node.reading, key, None) for key in _READING},
        "units": [_unit(cluster, node, unit) for unit in node.units],
    }


def _unit(cluster: Cluster, node: Node, unit: Unit) -> dict[str, Any]:
    job = _holder(cluster, node, unit)
    return {
        "unit": unit.id,
        "index": unit.index,
        "kind": unit.kind,
        "job": job.id if job else None,
        "rank": job.rank_of(node.name, unit.id) if job else None,
        "taken_by": occupied(cluster, node).get(unit.id),
        "simulated": unit.gpu is not None and unit.gpu.simulated,
        **{key: getattr(unit.gpu, key, None) for key in _GPU},
    }


def _holder(cluster: Cluster, node: Node, unit: Unit) -> Job | None:
    for job in cluster.jobs.values():
        if job.state.holds_units and job.rank_of(node.name, unit.id) is not None:
            return job
    return None


def _lines(cluster: Cluster, node: Node) -> list[str]:
    reading = node.reading
    if reading is None:
        return [f"{node.name}  {node.link}: {node.error or node.phase}"]
    cpu = "-" if reading.cpu_used_pct is None else f"{reading.cpu_used_pct:.0f}%"
    memory = _share(reading.memory_used_bytes, reading.memory_total_bytes)
    load = f"{reading.load[0]:.1f}" if reading.load else "-"
    head = f"{node.name}  {node.link}  cpu {cpu}  load {load}  ram {memory}"
    if reading.gpu_message and not reading.gpus:
        head += f"  ({reading.gpu_message})"
    taken = occupied(cluster, node)
    return [head, *(f"  {_unit_line(unit, taken.get(unit.id))}" for unit in node.units)]


def _unit_line(unit: Unit, who: str | None) -> str:
    gpu, owner = unit.gpu, who or "free"
    if gpu is None:
        return f"slot {unit.index}  {owner}"
    used = "-" if gpu.used_pct is None else f"{gpu.used_pct:.0f}%"
    memory = _share(gpu.memory_used_bytes, gpu.memory_total_bytes)
    heat = "-" if gpu.temperature_c is None else f"{gpu.temperature_c:.0f}C"
    power = "-" if gpu.power_w is None else f"{gpu.power_w:.0f}W"
    kind = f"{gpu.name or 'GPU'}{' (simulated)' if gpu.simulated else ''}"
    return f"gpu {unit.index}  {kind}  {used:>4}  {memory}  {heat}  {power}  {owner}"


def _share(used: int | None, total: int | None) -> str:
    if used is None or total is None:
        return "-"
    return f"{used / 2**30:.1f}/{total / 2**30:.1f} GiB"
