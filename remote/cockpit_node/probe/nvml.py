"""GPUs by NVIDIA's management library, through the pynvml that is shipped along."""

from __future__ import annotations

from typing import Any, Callable

from cockpit_node.probe.gpus import Gpu, GpuReading, gpu, process


class NvmlMissing(Exception):
    """This node has no NVIDIA driver library at all."""


class Nvml:
    """The library, loaded once; a GPU that fails is shown with its error, beside healthy ones."""

    def __init__(self) -> None:
        # Imported here: compiling it takes a tenth of a second that `hello` need not wait for.
        import pynvml

        self._library: Any = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError_LibraryNotFound as error:
            raise NvmlMissing(str(error)) from error

    def read(self) -> GpuReading:
        """Every GPU now. Raises NVMLError where the driver itself is gone."""
        count = self._library.nvmlDeviceGetCount()
        return GpuReading("nvml", [self._gpu(index) for index in range(count)])

    def close(self) -> None:
        self._ask(self._library.nvmlShutdown)

    def _gpu(self, index: int) -> Gpu:
        library = self._library
        try:
            handle = library.nvmlDeviceGetHandleByIndex(index)
            uuid = _text(library.nvmlDeviceGetUUID(handle))
            name = _text(library.nvmlDeviceGetName(handle))
        except library.NVMLError as error:
            return gpu(f"GPU-unreadable-{index}", index, "unreadable GPU", error=str(error))
        memory = self._ask(library.nvmlDeviceGetMemoryInfo, handle)
        rates = self._ask(library.nvmlDeviceGetUtilizationRates, handle)
        return gpu(
            uuid,
            index,
            name,
            used_pct=None if rates is None else float(rates.gpu),
            memory_used_bytes=None if memory is None else int(memory.used),
            memory_total_bytes=None if memory is None else int(memory.total),
            temperature_c=self._temperature(handle),
            power_w=_scaled(self._ask(library.nvmlDeviceGetPowerUsage, handle)),
            power_limit_w=_scaled(self._ask(library.nvmlDeviceGetEnforcedPowerLimit, handle)),
            processes=self._processes(handle),
            error=None if rates or memory else "neither memory nor utilisation can be read",
        )

    def _temperature(self, handle: Any) -> float | None:
        sensor = self._library.NVML_TEMPERATURE_GPU
        value = self._ask(self._library.nvmlDeviceGetTemperature, handle, sensor)
        return None if value is None else float(value)

    def _processes(self, handle: Any) -> list[Any]:
        found = self._ask(self._library.nvmlDeviceGetComputeRunningProcesses, handle) or []
        return [process(int(entry.pid), _memory(entry.usedGpuMemory)) for entry in found]

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """One figure, or None where this GPU or driver does not have it."""
        try:
            return call(*arguments)
        except self._library.NVMLError:
            return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _scaled(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else round(milliwatts / 1000, 1)


def _memory(value: Any) -> int | None:
    # All ones stands for "not available" in drivers that do not raise.
    return None if value is None or value >= 1 << 63 else int(value)
