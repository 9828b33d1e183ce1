"""Chooses where this node's GPU figures come from, and goes on when a source fails."""

from __future__ import annotations

import os
import shutil
import time
from typing import Callable, Mapping

from cockpit_node.probe import nvidia_smi, simulated
from cockpit_node.probe.gpus import GpuReading
from cockpit_node.probe.nvml import Nvml, NvmlMissing

RETRY_S = 30.0
"""Between two tries of a library that failed: a driver may be loaded or repaired meanwhile."""


class GpuSource:
    """Simulated GPUs where the environment asks for them, else NVML, else nvidia-smi."""

    def __init__(self, node: str, holders: Callable[[], Mapping[str, str]]) -> None:
        self._node = node
        self._holders = holders
        """Which run leases a unit."""
        self._nvml: Nvml | None = None
        self._nvml_error: str | None = None
        self._retry_at = 0.0

    def read(self) -> GpuReading:
        """Every GPU now; never an exception for a driver that is broken or absent."""
        if simulated.count():
            return simulated.read(self._node, self._holders())
        found = self._by_nvml()
        if found is not None:
            return found
        if shutil.which("nvidia-smi") is not None:
            try:
                return nvidia_smi.read()
            except nvidia_smi.SmiFailed as error:
                return GpuReading("none", [], str(error), broken=_has_devices())
        broken = _has_devices()
        message = self._nvml_error or "no NVIDIA driver is installed here"
        return GpuReading("none", [], message, broken)

    def _by_nvml(self) -> GpuReading | None:
        if self._nvml is None and time.monotonic() < self._retry_at:
            return None
        try:
            self._nvml = self._nvml or Nvml()
            return self._nvml.read()
        except NvmlMissing:
            self._nvml_error = None
        # pynvml raises classes of its own making, and AttributeError for a symbol that an
        # old driver lacks; each is one more way to have no figures.
        except Exception as error:  # noqa: BLE001
            self._nvml_error = f"NVML failed: {error}"
            if self._nvml is not None:
                self._nvml.close()
        self._nvml = None
        self._retry_at = time.monotonic() + RETRY_S
        return None


def _has_devices() -> bool:
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/proc/driver/nvidia/version")
