"""What a job left behind, made for screens: logs in a spool, points of metrics, checkpoints."""

from __future__ import annotations

import math
from pathlib import Path

from cockpit.core.jobs import Job
from cockpit.engine.spool import AttemptSpool
from cockpit.ui.model import Found, Point
from cockpit_trainer.wire import Metrics, format_line
from tests.ui.lab import WALL


def append(spool: AttemptSpool, stream: str, data: bytes) -> None:
    spool.append(stream, spool.size(stream), data)


def write_log(directory: Path, job: Job, steps: int = 200) -> AttemptSpool:
    """Every rank prints each step, rank 0 its metrics, rank 1 a progress bar on stderr."""
    spool = AttemptSpool(directory)
    for part in job.parts:
        for local in range(len(part.units)):
            rank = part.node_rank * job.request.gpus + local
            for kind in ("stdout", "stderr"):
                spool.declare(f"{rank}.{kind}", part.node, rank)
    spool.declare("launcher.0", job.nodes[0], None)
    append(spool, "launcher.0", b"torchrun: rendezvous on 10.0.0.1:29611\n")
    for step in range(1, steps + 1):
        for rank in range(min(job.ranks, 16)):
            append(spool, f"{rank}.stdout", b"rank %d did step %d\n" % (rank, step))
        line = Metrics(step, WALL + step, {"loss": 2 + 5 / step, "lr": 3e-4, "tokens_per_s": 1e5})
        append(spool, "0.stdout", format_line(line).encode() + b"\n")
        append(spool, "1.stderr", b"\r %3d/%d |#####     | 3.1 it/s" % (step, steps))
    append(spool, "3.stderr", b"UserWarning: the GPU is warm\n")
    return spool


def points(steps: int = 500, attempts: int = 2) -> dict[str, list[Point]]:
    """Curves with a restart from 80 of each 100 steps, a spike, a nan and an inf."""
    found: dict[str, list[Point]] = {"loss": [], "tokens_per_s": [], "gpu_used_pct": []}
    for attempt in range(1, attempts + 1):
        first = 1 if attempt == 1 else int(steps * 0.8) + 1
        for step in range(first, steps + 1 + (attempt - 1) * steps // 2):
            time = WALL + step * 2.0 + attempt * 100
            loss = 2 + 8 / (1 + step / 30) + 0.1 * math.sin(step)
            loss = {150: 9.0, 151: math.nan, 152: math.inf}.get(step, loss)
            found["loss"].append(Point(attempt, step, time, loss))
            speed = 128_000 + 9_000 * math.sin(step / 5)
            found["tokens_per_s"].append(Point(attempt, step, time, speed))
            found["gpu_used_pct"].append(Point(attempt, None, time, 90 + 8 * math.sin(step / 9)))
    return found


CHECKPOINTS = (
    Found(
        42_000, "/ckpt/step-00042000", False, "no manifest: saving was cut off", 10**9, WALL, None
    ),
    Found(41_000, "/ckpt/step-00041000", True, "", 41_200_000_000, WALL - 600, 16),
    Found(40_000, "/ckpt/step-00040000", True, "", 41_200_000_000, WALL - 1200, 16),
)
