"""Jobs as the command line sees them: the store's, and those that still wait to be consumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from cockpit.build.place import Place
from cockpit.cli.say import Failure, note
from cockpit.core.jobs import Job
from cockpit.engine.lock import holder
from cockpit.engine.orders import BadOrder, request_of
from cockpit.engine.store import Store

HOW_TO_RUN = "start `cockpit`, or `cockpit daemon` on a machine that stays on"


@contextmanager
def open_store(place: Place) -> Iterator[Store]:
    store = place.store()
    try:
        yield store
    finally:
        store.close()


def has_engine(place: Place) -> bool:
    return holder(place.paths.lock) is not None


def warn_of_stale_engine(place: Place) -> None:
    """An engine reads cockpit.toml once, at its start."""
    pid = holder(place.paths.lock)
    if pid and place.config.path.stat().st_mtime > place.paths.lock.stat().st_mtime:
        note(
            f"{place.config.path} changed after the engine (pid {pid}) started, which goes by the "
            "old one: end it and start it again; jobs go on"
        )


def all_jobs(place: Place, store: Store) -> dict[int, Job]:
    """Every job, oldest first, also those that no engine has seen yet."""
    jobs, _ = store.jobs()
    down = "" if has_engine(place) else f"EngineDown: no engine is running; {HOW_TO_RUN}"
    for order in store.orders():
        if order.kind == "submit" and order.job not in jobs:
            with suppress(BadOrder):
                request = request_of(order)
                jobs[order.job] = Job(order.job, request, reason=down, submitted=order.time)
    return jobs


def one_job(place: Place, store: Store, number: int) -> Job:
    """Raises Failure."""
    jobs = all_jobs(place, store)
    if number not in jobs:
        known = f"; the newest is {max(jobs)}" if jobs else "; nothing was submitted yet"
        raise Failure(f"there is no job {number} in cluster {place.config.name}{known}")
    return jobs[number]


def record(job: Job) -> dict[str, Any]:
    """The contract of `show --json` and `ps --json` (docs/cli.md)."""
    return {
        "id": job.id,
        "run": job.run,
        "name": job.name,
        "user": job.request.user,
        "state": job.state.value,
        "attempt": job.attempt,
        "nodes": list(job.nodes),
        "ranks": job.ranks,
        "shape": job.request.shape,
        "step": job.step,
        "reason": job.reason,
        "phase": job.phase,
        "checkpoint": asdict(job.checkpoint) if job.checkpoint else None,
        "resumed_from": asdict(job.resume) if job.resume else None,
        "values": dict(job.values),
        "code": job.code,
        "command": list(job.request.argv),
        "workdir": job.request.workdir or job.request.submitted_from,
        "submitted": job.submitted,
        "started": job.started,
        "ended": job.ended,
    }
