"""How fast a run goes: step time, tokens a second, and the share of the GPUs' peak it uses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

PEAK_FLOPS = (
    ("B200", 2250e12),
    ("H200", 989e12),
    ("H100 NVL", 835e12),
    ("H100 PCIe", 756e12),
    ("H100", 989e12),
    ("H800", 989e12),
    ("A100", 312e12),
    ("A800", 312e12),
    ("L40S", 362e12),
    ("A10G", 70e12),
    ("A10", 125e12),
    ("L4", 121e12),
    ("RTX 4090", 165e12),
    ("RTX 3090", 71e12),
)
"""Dense bf16 FLOP/s by a part of the device name, from NVIDIA's data sheets; the first that fits."""


def peak_flops(device_name: str) -> float | None:
    """Dense bf16 FLOP/s of one GPU, or None where it is not known."""
    words = f" {device_name.replace('-', ' ')} "
    return next((peak for part, peak in PEAK_FLOPS if f" {part} " in words), None)


def flops_per_token(parameters: int, layers: int, width: int, block_size: int) -> float:
    """Forward and backward: 6 N + 12 layers width context, after Chowdhery et al., PaLM, app. B."""
    return 6.0 * parameters + 12.0 * layers * width * block_size


class Pace:
    """Counts steps and the time they took since the last report, pauses left out."""

    def __init__(self, tokens_per_step: int, peak_tokens_per_second: float | None) -> None:
        self._tokens_per_step = tokens_per_step
        """Over all ranks."""
        self._peak_tokens_per_second = peak_tokens_per_second
        """What all GPUs together could do at their peak; None where nobody knows."""
        self.start()

    def start(self) -> None:
        """Begin to count here."""
        self._steps = 0
        self._since = time.perf_counter()

    def step_done(self) -> None:
        self._steps += 1

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Saving and evaluating are no training, and do not count."""
        began = time.perf_counter()
        yield
        self._since += time.perf_counter() - began

    def report(self) -> dict[str, float]:
        """The figures since the last report; at least one step must lie between."""
        now = time.perf_counter()
        step_seconds = (now - self._since) / self._steps
        self._steps, self._since = 0, now
        tokens_per_second = self._tokens_per_step / step_seconds
        figures = {"tokens_per_s": tokens_per_second, "step_time_s": step_seconds}
        if self._peak_tokens_per_second is not None:
            figures["mfu"] = tokens_per_second / self._peak_tokens_per_second
        return figures
