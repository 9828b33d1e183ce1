"""GPUs by the nvidia-smi command, where its library cannot be loaded."""

from __future__ import annotations

import csv
import subprocess
from typing import Any

from cockpit_node.probe.gpus import Gpu, GpuReading, gpu, process

TIMEOUT_S = 5.0
"""It hangs where a GPU is lost; the next one starts only when the last is gone."""
MAX_OUTPUT = 1 << 20

_FIELDS = (
    "uuid,index,name,utilization.gpu,memory.used,memory.total,"
    "temperature.gpu,power.draw,enforced.power.limit"
)
_MIB = 1024 * 1024


class SmiFailed(Exception):
    """nvidia-smi gave no list of GPUs; the text is what it said."""


def read() -> GpuReading:
    """Every GPU now; a line that cannot be parsed becomes a GPU with that line as its error."""
    lines = _ask("--query-gpu=" + _FIELDS)
    users = _processes()
    return GpuReading("nvidia-smi", [_gpu(row, at, users) for at, row in enumerate(lines)])


def _gpu(row: list[str], at: int, users: dict[str, list[Any]]) -> Gpu:
    if len(row) != len(_FIELDS.split(",")) or not row[0].startswith("GPU-"):
        said = ", ".join(row)[:300] or "nvidia-smi printed a line that names no GPU"
        return gpu(f"GPU-unreadable-{at}", at, "unreadable GPU", error=said)
    uuid, index, name, used, memory, total, temperature, power, limit = row
    return gpu(
        uuid,
        int(_number(index) or 0),
        name,
        used_pct=_number(used),
        memory_used_bytes=_bytes(memory),
        memory_total_bytes=_bytes(total),
        temperature_c=_number(temperature),
        power_w=_number(power),
        power_limit_w=_number(limit),
        processes=users.get(uuid, []),
        error=None if _number(used) is not None or _bytes(memory) is not None else used or "silent",
    )


def _processes() -> dict[str, list[Any]]:
    try:
        rows = _ask("--query-compute-apps=gpu_uuid,pid,used_memory")
    except SmiFailed:
        return {}
    users: dict[str, list[Any]] = {}
    for row in rows:
        if len(row) == 3 and row[1].isdigit():
            users.setdefault(row[0], []).append(process(int(row[1]), _bytes(row[2])))
    return users


def _ask(query: str) -> list[list[str]]:
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SmiFailed(f"nvidia-smi did not answer within {TIMEOUT_S:.0f} s") from error
    except OSError as error:
        raise SmiFailed(f"nvidia-smi cannot be run: {error.strerror}") from error
    text = done.stdout[:MAX_OUTPUT].decode("utf-8", "replace")
    if done.returncode != 0:
        said = text.strip().splitlines() or ["nothing"]
        raise SmiFailed(f"nvidia-smi ended with {done.returncode} and said: {said[0][:300]}")
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [[word.strip() for word in row] for row in rows if row]


def _number(word: str) -> float | None:
    """A figure; None for [N/A], [Not Supported], ERR! and all else that is none."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None


def _bytes(mebibytes: str) -> int | None:
    value = _number(mebibytes)
    return None if value is None else int(value * _MIB)
