"""What nodes say, turned into facts of the core. Bytes from a node are hostile: wrong types become unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from cockpit.core.cluster import Gpu, GpuProcess, Lease, Moment, NodeFacts, Reading
from cockpit.core.events import Report, RunsListed
from cockpit.core.jobs import Checkpoint, Exit, Failure, Stream
from cockpit.core.request import is_path
from cockpit.core.text import visible

_Json = Mapping[str, Any]
_T = TypeVar("_T")
MAX_TEXT = 500
"""Characters kept of any text that a node says."""
MAX_ITEMS = 4096
"""Items kept of any list that a node says, and units that it may have."""
MAX_WHOLE_BITS = 63
"""Of any whole number that a node says: what SQLite keeps, and bytes of a disk."""


def number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int) and value.bit_length() > 1023:
        return None
    return float(value) if math.isfinite(value) else None


def whole(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value.bit_length() <= MAX_WHOLE_BITS else None


def text(value: object) -> str:
    return visible(value, MAX_TEXT) if isinstance(value, str) else ""


def table(value: object) -> _Json:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> Iterator[_Json]:
    """The tables in a list, whatever else is in it."""
    for item in value[:MAX_ITEMS] if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def facts(hello: _Json) -> NodeFacts:
    return NodeFacts(
        hostname=text(hello.get("hostname")),
        user=text(hello.get("user")),
        python=text(hello.get("python")),
        boot_id=text(hello.get("boot_id")),
        state_root=text(hello.get("state_root")),
        address=text(hello.get("address")),
        interface=text(hello.get("interface")),
        cores=whole(hello.get("cores")) or 1,
    )


def reading(found: _Json) -> Reading:
    cpu, memory = table(found.get("cpu")), table(found.get("memory"))
    network = table(found.get("network"))
    disk = next(rows(found.get("disks")), {})
    return Reading(
        seq=whole(found.get("seq")) or 0,
        time=number(found.get("time")),
        uptime_s=number(found.get("uptime_s")),
        cpu_used_pct=number(cpu.get("used_pct")),
        cpu_cores=whole(cpu.get("cores")),
        load=_load(found.get("load")),
        memory_used_bytes=whole(memory.get("used_bytes")),
        memory_total_bytes=whole(memory.get("total_bytes")),
        disk_free_bytes=whole(disk.get("free_bytes")),
        disk_total_bytes=whole(disk.get("total_bytes")),
        received_bytes_per_s=number(network.get("received_bytes_per_s")),
        sent_bytes_per_s=number(network.get("sent_bytes_per_s")),
        gpus=_known(rows(found.get("gpus")), _gpu),
        gpu_source=text(found.get("gpu_source")) or "none",
        gpu_message=text(found.get("gpu_message")) or None,
        slots=_slots(found.get("slots")),
        leases=_known(rows(found.get("leases")), _lease),
    )


def _slots(value: object) -> int | None:
    count = whole(value)
    return None if count is None else max(0, min(count, MAX_ITEMS))


def _load(value: object) -> tuple[float, ...]:
    averages = map(number, value[:3]) if isinstance(value, list) else ()
    return tuple(average for average in averages if average is not None)


def _known(found: Iterator[_Json], parse: Callable[[_Json], _T | None]) -> tuple[_T, ...]:
    return tuple(item for item in map(parse, found) if item is not None)


def _gpu(found: _Json) -> Gpu | None:
    uuid, index = text(found.get("uuid")), whole(found.get("index"))
    if not uuid or index is None:
        return None
    return Gpu(
        uuid=uuid,
        index=index,
        name=text(found.get("name")) or None,
        simulated=found.get("simulated") is True,
        used_pct=number(found.get("used_pct")),
        memory_used_bytes=whole(found.get("memory_used_bytes")),
        memory_total_bytes=whole(found.get("memory_total_bytes")),
        temperature_c=number(found.get("temperature_c")),
        power_w=number(found.get("power_w")),
        power_limit_w=number(found.get("power_limit_w")),
        processes=_known(rows(found.get("processes")), _process),
        error=text(found.get("error")) or None,
    )


def _process(found: _Json) -> GpuProcess | None:
    pid = whole(found.get("pid"))
    if pid is None:
        return None
    return GpuProcess(
        pid=pid,
        user=text(found.get("user")) or None,
        memory_bytes=whole(found.get("memory_bytes")),
        run=text(found.get("run")) or None,
    )


def _lease(found: _Json) -> Lease | None:
    unit = text(found.get("unit"))
    if not unit:
        return None
    return Lease(
        unit=unit,
        run=text(found.get("run")),
        attempt=whole(found.get("attempt")) or 0,
        user=text(found.get("user")),
        name=text(found.get("name")),
        since=number(found.get("since")),
    )


def report(found: _Json) -> Report | None:
    """A RunState of docs/protocol.md, or None where it names no attempt."""
    run, attempt = text(found.get("run")), whole(found.get("attempt"))
    if not run or attempt is None:
        return None
    ended = found.get("exit")
    return Report(
        run=run,
        attempt=attempt,
        state=text(found.get("state")),
        streams=_known(rows(found.get("streams")), _stream),
        pids=_known(rows(found.get("ranks")), _pid),
        exit=_exit(ended) if isinstance(ended, dict) else None,
        message=text(found.get("message")),
    )


def runs_listed(
    node: str, at: Moment, reply: _Json, of: Iterable[tuple[str, int]] | None = None
) -> RunsListed:
    """The reply to `runs`; a list that was cut, or of which a row cannot be read, is not whole."""
    told = reply.get("runs")
    reports = _known(rows(told), report)
    is_whole = isinstance(told, list) and len(reports) == len(told)
    return RunsListed(node, at, reports, None if of is None else frozenset(of), is_whole)


def _pid(found: _Json) -> tuple[int, int] | None:
    rank, pid = whole(found.get("rank")), whole(found.get("pid"))
    return None if rank is None or pid is None else (rank, pid)


def _stream(found: _Json) -> Stream | None:
    name = text(found.get("name"))
    return Stream(name, whole(found.get("rank")), text(found.get("stream"))) if name else None


def _exit(found: _Json) -> Exit:
    failure = found.get("first_failure")
    return Exit(
        code=whole(found.get("code")),
        signal=text(found.get("signal")) or None,
        stopped=found.get("stopped") is True,
        reason=text(found.get("reason")),
        failure=_failure(failure) if isinstance(failure, dict) else None,
        leftovers=whole(found.get("leftovers")) or 0,
    )


def _failure(found: _Json) -> Failure:
    return Failure(
        rank=whole(found.get("rank")),
        code=whole(found.get("code")),
        signal=text(found.get("signal")) or None,
        message=text(found.get("message")),
    )


def complete_checkpoints(found: _Json) -> tuple[Checkpoint, ...]:
    """Of the reply to `checkpoints`: the complete ones, newest step first."""
    complete = [
        Checkpoint(step, path)
        for row in rows(found.get("checkpoints"))
        if row.get("complete") is True
        and (step := whole(row.get("step"))) is not None
        and isinstance(path := row.get("path"), str)
        and is_path(path)
    ]
    return tuple(sorted(complete, key=lambda checkpoint: -checkpoint.step))
