"""Figures of a node: a healthy GPU is shown beside a sick one, and nothing unknown is 0."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cockpit_node import leases
from cockpit_node.probe import host, nvidia_smi, simulated
from cockpit_node.probe.reading import Readings, Setting
from cockpit_node.probe.sampler import Sampler
from cockpit_node.wire import MAX_SLOTS
from cockpit_remote.messages import check

HEALTHY = "GPU-a, 0, NVIDIA H100 80GB HBM3, 97, 1024, 81559, 64, 612.5, 700.00"
HEALTHY_MIB = 1024 * 1024 * 1024


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in nvidia-smi, first on the path, to be written by the test."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "nvidia-smi"


def _say(smi: Path, gpus: str, processes: str = "", status: int = 0) -> None:
    (smi.parent / "gpus").write_text(gpus)
    (smi.parent / "processes").write_text(processes)
    smi.write_text(
        f'#!/bin/sh\ncase "$1" in *compute-apps*) cat {smi.parent}/processes;; '
        f"*) cat {smi.parent}/gpus; exit {status};; esac\n"
    )
    smi.chmod(0o755)


def test_nvidia_smi_gives_figures_and_whose_process_it_is(smi: Path) -> None:
    _say(smi, f"{HEALTHY}\n", f"GPU-a, {os.getpid()}, 512\nGPU-a, 99999999, [N/A]\n")
    (gpu,) = nvidia_smi.read().gpus
    assert (gpu["uuid"], gpu["used_pct"], gpu["memory_used_bytes"]) == ("GPU-a", 97, HEALTHY_MIB)
    mine, gone = gpu["processes"]
    assert mine["memory_bytes"] == 512 * 1024 * 1024
    assert mine["user"]
    assert (gone["user"], gone["memory_bytes"], gone["run"]) == (None, None, None)


@pytest.mark.parametrize(
    "line",
    [
        "GPU-b, 1, NVIDIA H100, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]",
        "GPU-b, 1, NVIDIA H100, ERR!, [Unknown Error], nan, inf, 1e999, [Not Supported]",
        "Unable to determine the device handle for GPU0000:18:00.0: GPU is lost.",
        "GPU-b, 1",
        '"',
    ],
)
def test_a_sick_gpu_is_unknown_beside_a_healthy_one(smi: Path, line: str) -> None:
    _say(smi, f"{HEALTHY}\n{line}\n")
    healthy, sick = nvidia_smi.read().gpus
    assert healthy["error"] is None
    assert sick["error"]
    figures = ("used_pct", "memory_used_bytes", "memory_total_bytes", "temperature_c", "power_w")
    assert [sick[figure] for figure in figures] == [None] * 5


def test_a_mismatch_of_versions_is_said_in_its_own_words(smi: Path) -> None:
    _say(smi, "Failed to initialize NVML: Driver/library version mismatch\n", status=18)
    with pytest.raises(nvidia_smi.SmiFailed, match="18 and said: Failed to initialize NVML"):
        nvidia_smi.read()


def test_a_hanging_nvidia_smi_is_given_up(smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia_smi, "TIMEOUT_S", 0.2)
    smi.write_text("#!/bin/sh\nexec sleep 600\n")
    smi.chmod(0o755)
    with pytest.raises(nvidia_smi.SmiFailed, match="did not answer"):
        nvidia_smi.read()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_nvml_shows_a_lost_gpu_beside_healthy_ones(tmp_path: Path) -> None:
    source = Path(__file__).with_name("standin_nvml.c")
    library = tmp_path / "libnvidia-ml.so.1"
    build = ["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(source)]
    subprocess.run(build, check=True, timeout=60)
    program = (
        "import json; from cockpit_node.probe.source import GpuSource; "
        "print(json.dumps(GpuSource('n', dict).read()))"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
    source_name, gpus, message, broken = json.loads(done.stdout)
    assert (source_name, message, broken) == ("nvml", None, False)
    healthy, lost, bare = gpus
    assert healthy["name"] == "NVIDIA ™ H100, 80GB"
    assert (healthy["used_pct"], healthy["power_w"], healthy["power_limit_w"]) == (97, 612.3, None)
    assert healthy["processes"][0]["memory_bytes"] is None
    assert "lost" in lost["error"].lower()
    assert (bare["uuid"], bare["used_pct"]) == ("GPU-two", None)
    assert bare["error"]


def test_simulated_figures_follow_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_NODE_SIMULATED_GPUS", "2")
    idle, used = simulated.read("gpu1", {"SIM-gpu1-1": "run"}).gpus
    assert idle["simulated"]
    assert idle["used_pct"] == 0
    assert 50 < used["used_pct"] <= 100
    assert used["memory_used_bytes"] > 10 * idle["memory_used_bytes"]


def test_the_host_is_read_and_its_rates_come_with_the_second_reading() -> None:
    probe = host.HostProbe()
    first = probe.read()
    assert first["cpu"]["used_pct"] is None
    assert first["memory"]["total_bytes"] > first["memory"]["used_bytes"] > 0
    second = probe.read()
    assert second["network"]["sent_bytes_per_s"] is not None
    (disk, *_) = host.disks(["/", "/", "/nowhere"])
    assert disk["free_bytes"] <= disk["total_bytes"]


def test_a_probe_that_hangs_or_fails_holds_up_nothing() -> None:
    release = threading.Event()
    hanging: Sampler[bool] = Sampler("hanging", release.wait, 1)
    failing: Sampler[float] = Sampler("failing", lambda: 1 / 0, 1)
    for sampler in (hanging, failing):
        sampler.start()
    failing.wait(5)
    assert failing.value is None
    assert "ZeroDivisionError" in (failing.error or "")
    started = time.monotonic()
    hanging.wait(0.05)
    assert time.monotonic() - started < 1
    assert hanging.value is None
    release.set()


def test_a_whole_reading_is_one_the_operator_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_NODE_SIMULATED_GPUS", "1")
    lease: dict[str, Any] = {"unit": "SIM-gpu1-0", "run": "r", "attempt": 1}
    readings = Readings(Setting("gpu1", 4, ["/"]), lambda units: [lease])
    readings.start()
    readings.wait(5)
    reading = readings.read()
    assert check(reading) == "reading"
    assert readings.units() == ["SIM-gpu1-0"]
    assert reading["slots"] is None


def test_before_the_gpus_have_answered_the_node_claims_neither_gpus_nor_slots() -> None:
    readings = Readings(Setting("gpu1", 4, ["/"]), lambda units: [])
    reading = readings.read()
    assert check(reading) == "reading"
    assert (reading["gpus"], reading["slots"]) == (None, None)
    assert "have not answered yet" in reading["gpu_message"]


def test_nobody_gets_more_slots_than_a_machine_can_have_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    readings = Readings(Setting("gpu1", 10**9, ["/"]), lambda units: [])
    readings.start()
    readings.wait(5)
    assert readings.read()["slots"] == MAX_SLOTS
    assert len(readings.units()) == MAX_SLOTS


@pytest.mark.parametrize("simulated_gpus", ["0", "2"])
def test_where_no_unit_can_be_leased_none_is_offered_as_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated_gpus: str
) -> None:
    locks = tmp_path / "locks"
    locks.mkdir(mode=0o700)
    locks.chmod(0o770)
    monkeypatch.setenv("COCKPIT_NODE_LOCKS", str(locks))
    monkeypatch.setenv("COCKPIT_NODE_SIMULATED_GPUS", simulated_gpus)

    def held(units: list[str]) -> list[dict[str, Any]]:
        return [holder._asdict() for holder in leases.holders(units).values()]

    readings = Readings(Setting("gpu1", 4, ["/"]), held)
    readings.start()
    readings.wait(5)
    reading = readings.read()
    assert check(reading) == "reading"
    assert reading["slots"] is None
    assert f"run `chmod 1777 {locks}`" in reading["gpu_message"]
    assert [gpu["error"] == reading["gpu_message"] for gpu in reading["gpus"]] == [True] * int(
        simulated_gpus
    )
