"""GPUs that do not exist, for practice: their figures follow from who leases them."""

from __future__ import annotations

import math
import os
import time
import zlib
from typing import Mapping

from cockpit_node.probe.gpus import Gpu, GpuReading, gpu

MEMORY_BYTES = 80 * 1024**3
_IDLE_W, _LIMIT_W = 68.0, 700.0


def count() -> int:
    """How many this node's environment asks for."""
    word = os.environ.get("COCKPIT_NODE_SIMULATED_GPUS", "0")
    return min(64, int(word)) if word.isdigit() else 0


def uuids(node: str) -> list[str]:
    return [f"SIM-{node}-{index}" for index in range(count())]


def read(node: str, holders: Mapping[str, str]) -> GpuReading:
    """Every simulated GPU now; `holders` names the run that leases a unit."""
    now = time.time()
    gpus = [_gpu(uuid, at, holders.get(uuid), now) for at, uuid in enumerate(uuids(node))]
    return GpuReading("simulated", gpus)


def _gpu(uuid: str, index: int, run: str | None, now: float) -> Gpu:
    # The run's name sets the phase, so that all ranks of a gang rise and fall together.
    phase = zlib.crc32((run or uuid).encode()) % 97
    wave = math.sin(now / 7 + phase) * 0.6 + math.sin(now / 2.3 + phase + index) * 0.4
    used = max(0.0, 91 + 7 * wave) if run else 0.0
    share = 0.62 + (phase % 30) / 100 + 0.01 * wave if run else 0.006
    power = _IDLE_W + (_LIMIT_W - _IDLE_W) * used / 100 * 0.93
    return gpu(
        uuid,
        index,
        "Simulated GPU",
        simulated=True,
        used_pct=round(used, 1),
        memory_used_bytes=int(MEMORY_BYTES * share),
        memory_total_bytes=MEMORY_BYTES,
        temperature_c=round(31 + 36 * used / 100 + wave, 1),
        power_w=round(power, 1),
        power_limit_w=_LIMIT_W,
    )
