"""What one fact and one pass over the queue cost, by how many jobs are over and how many wait.

python -m tests.benchmarks.bench_schedule
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace

from cockpit.core import events as e
from cockpit.core.cluster import Cluster, Moment, Node, Reading
from cockpit.core.jobs import Exit, Job, JobState, Part, PartState
from cockpit.core.request import Request
from cockpit.core.step import step
from tests.core.play import gpus, lab, without

NODES = tuple(f"gpu{number}" for number in range(1, 17))
UNITS = 8
OVER = (0, 1_000, 5_000)
WAITING = (100, 1_000, 10_000)
ROUNDS = 50


def main() -> None:
    sys.stdout.write(f"{len(NODES)} nodes with {UNITS} GPUs, one down; milliseconds\n")
    sys.stdout.write(
        "   over waiting      fact    metric   job end whole pass  submit first pass\n"
    )
    fastest: dict[str, float] = {}
    for over in OVER:
        for waiting in WAITING:
            costs = _costs(over, waiting)
            for name, cost in costs.items():
                fastest.setdefault(name, cost)
            row = "".join(f"{cost * 1e3:10.3f}" for cost in costs.values())
            sys.stdout.write(f"{over:7} {waiting:7}{row}   {1 / costs['fact']:7.0f} facts/s\n")
    growth = ", ".join(f"{name} x{costs[name] / cost:.1f}" for name, cost in fastest.items())
    sys.stdout.write(f"from the first row to the last: {growth}\n")


def _costs(over: int, waiting: int) -> dict[str, float]:
    """Seconds each, by what happens."""
    cluster = _crowd(over, waiting)
    begin = time.perf_counter()
    cluster, _ = step(cluster, e.Ticked(cluster.now))
    first = time.perf_counter() - begin
    cluster, _ = step(cluster, e.Ticked(cluster.now))
    node = cluster.nodes[NODES[0]]
    runner = next(job for job in cluster.jobs.values() if job.state is JobState.RUNNING)
    request = Request("NEW", ("train.py",), "new", nodes=2, gpus=2)
    newest = max(cluster.jobs) + 1
    blocker = cluster.outlook.blocker if cluster.outlook else None
    assert blocker is not None
    return {
        "fact": _median(cluster, e.ReadingArrived(node.name, cluster.now, _reading(node))),
        "metric": _median(cluster, e.MetricsLogged(runner.run, 1, 5, {"loss": 2.0})),
        "end": _median(cluster, e.RunSeen(node.name, cluster.now, _ended(runner))),
        "pass": _median(cluster, e.CancelOrdered(blocker, cluster.now)),
        "submit": _median(cluster, e.JobSubmitted(newest, cluster.now, request, 0.0)),
        "first": first,
    }


def _median(cluster: Cluster, event: e.Event) -> float:
    taken = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        step(cluster, event)
        taken.append(time.perf_counter() - begin)
        if sum(taken) > 5:
            break
    return statistics.median(taken)


def _crowd(over: int, waiting: int) -> Cluster:
    """Many jobs that are over, one that runs on the first node, and many of four shapes that wait."""
    cluster = without(lab(*NODES, units=UNITS), NODES[-1])
    jobs: dict[int, Job] = {}
    for number in range(1, over + 1):
        jobs[number] = _ran(number, JobState.COMPLETED)
    jobs[over + 1] = _ran(over + 1, JobState.RUNNING)
    shapes = ((16, 8), (15, 8), (2, 2), (1, 8))
    for number in range(over + 2, over + 2 + waiting):
        nodes, units = shapes[number % len(shapes)]
        request = Request(f"RUN{number}", ("train.py",), "job", nodes=nodes, gpus=units)
        jobs[number] = Job(number, request)
    return replace(cluster, jobs=jobs, now=Moment(2000.0, 1000.0))


def _ran(number: int, state: JobState) -> Job:
    request = Request(f"RUN{number}", ("train.py",), "job", nodes=1, gpus=UNITS)
    node = NODES[0]
    unit_ids = tuple(gpu.uuid for gpu in gpus(node, UNITS))
    is_over = state is JobState.COMPLETED
    stands = PartState.ENDED if is_over else PartState.STARTED
    how = Exit(0) if is_over else None
    part = Part(node, 0, unit_ids, tuple(range(UNITS)), stands, exit=how)
    return Job(number, request, state, attempt=1, parts=(part,), started=1.0)


def _reading(node: Node) -> Reading:
    assert node.reading is not None
    return replace(node.reading, seq=node.reading.seq + 1)


def _ended(job: Job) -> e.Report:
    return e.Report(job.run, 1, "ended", exit=Exit(0))


if __name__ == "__main__":
    main()
