"""Real runs, killed, stopped and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cockpit_trainer.manifest import complete_checkpoints, read_manifest
from cockpit_trainer.wire import CheckpointSaved, Line, Metrics
from tests.trainer.launched import TRAINER, alone, launched, torchrun

pytestmark = pytest.mark.torch

STEPS = 24
SIZE = ("--batch-size=2", "--block-size=32", "--layers=1", "--width=32", "--warmup=4")
SCHEDULE = (f"--steps={STEPS}", "--checkpoint-every=8", "--log-every=1", *SIZE)
SLOWLY = "--min-step-seconds=0.1"


def saved(line: Line) -> bool:
    return isinstance(line, CheckpointSaved)


def stepped(line: Line) -> bool:
    return isinstance(line, Metrics) and "loss" in line.values


def weights(directory: Path, step: int = STEPS) -> str:
    """The digests of all state in a checkpoint."""
    program = [sys.executable, "-m", "cockpit_trainer.weights", str(directory / f"step-{step:08d}")]
    environment = {**os.environ, "PYTHONPATH": str(TRAINER)}
    return subprocess.run(
        program, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of a run of two ranks that nobody disturbed."""
    directory = tmp_path_factory.mktemp("unbroken")
    with launched(
        torchrun(*SCHEDULE, "--eval-every=12"), COCKPIT_CHECKPOINT_DIR=str(directory)
    ) as run:
        assert run.finish() == 0, run.text
    assert run.saved_steps == [8, 16, 24]
    assert run.metrics[STEPS]["loss"] < run.metrics[1]["loss"] - 0.5
    assert set(run.metrics[1]) == {"loss", "lr", "grad_norm", "tokens_per_s", "step_time_s"}
    assert run.phases[:4] == ["importing torch", "waiting for peers", "loading data", "resuming"]
    assert run.phases[-1] == "done"
    assert "evaluating" in run.phases
    assert "NumPy" not in run.text.partition("[cockpit]")[2]
    return weights(directory)


def test_a_run_whose_rank_was_killed_ends_bit_equal_to_one_never_killed(
    tmp_path: Path, unbroken: str
) -> None:
    with launched(torchrun(*SCHEDULE, SLOWLY, f"--checkpoint-dir={tmp_path}")) as run:
        run.wait_for(stepped)
        for pid in run.ranks().values():
            os.kill(pid, signal.SIGUSR1)
        run.wait_for(saved)
        os.kill(run.ranks()[1], signal.SIGKILL)
        assert run.finish() != 0
    asked_for, *_ = run.saved_steps
    assert asked_for < 8, "SIGUSR1 saves at the next step"
    newest = complete_checkpoints(tmp_path)[0]
    half_written = tmp_path / f".step-00000023.tmp-{run.process.pid}"
    half_written.mkdir()
    (half_written / "model.pt").write_bytes(b"half")
    truncated = tmp_path / "step-00000022"
    truncated.mkdir()
    with launched(torchrun(*SCHEDULE, f"--checkpoint-dir={tmp_path}")) as run:
        assert run.finish() == 0, run.text
    assert "step-00000022 was passed over: its manifest cannot be read" in run.text
    assert f"Resumed at step {read_manifest(newest).step} from {newest}." in run.text
    assert not half_written.exists()
    assert weights(tmp_path) == unbroken


def test_a_run_from_a_zip_that_is_stopped_twice_saves_once_and_goes_on_bit_equal(
    tmp_path: Path, unbroken: str
) -> None:
    archive = tmp_path / "trainer.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for source in TRAINER.glob("cockpit_trainer/*.py"):
            zipped.write(source, source.relative_to(TRAINER))
    stopped, resumed = tmp_path / "stopped", tmp_path / "resumed"
    command = torchrun(*SCHEDULE, SLOWLY, f"--checkpoint-dir={stopped}")
    with launched(command, PYTHONPATH=str(archive)) as run:
        run.wait_for(stepped)
        for pid in run.ranks().values():
            os.kill(pid, signal.SIGTERM)
        run.process.terminate()
        assert run.finish() != 0
    (step,) = run.saved_steps
    assert f"Stopped by SIGTERM after step {step} of {STEPS}." in run.text
    assert "Traceback" not in run.text.partition("Stopped")[0]
    checkpoint = stopped / f"step-{step:08d}"
    command = torchrun(*SCHEDULE, f"--resume-from={checkpoint}", f"--checkpoint-dir={resumed}")
    with launched(command, PYTHONPATH=str(archive)) as run:
        assert run.finish() == 0, run.text
    assert f"Resumed at step {step} from {checkpoint}." in run.text
    assert weights(resumed) == unbroken


def test_one_process_stops_with_143_and_goes_on_from_the_newest_undamaged_checkpoint(
    tmp_path: Path,
) -> None:
    arguments = (*SCHEDULE, "--checkpoint-every=2", "--keep=2", f"--checkpoint-dir={tmp_path}")
    with launched(alone(*arguments, SLOWLY)) as run:
        run.wait_for(lambda line: isinstance(line, CheckpointSaved) and line.step == 6)
        run.process.terminate()
        assert run.finish() == 143, run.text
    assert run.saved_steps[:3] == [2, 4, 6]
    kept = [read_manifest(path) for path in complete_checkpoints(tmp_path)]
    assert [manifest.step for manifest in kept] == run.saved_steps[:-3:-1]
    assert kept[0].world_size == 1
    newest = complete_checkpoints(tmp_path)[0]
    damaged = newest / "model.pt"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    with launched(alone(*arguments, f"--steps={kept[1].step}")) as run:
        assert run.finish() == 0, run.text
    assert f"{newest.name} was passed over: model.pt is damaged" in run.text
    assert f"Nothing to do: step {kept[1].step} of {kept[1].step} was reached before." in run.text
    with launched(alone(*arguments, "--heads=2")) as run:
        assert run.finish() == 2
    assert "The checkpoint is of a model with block size 32, layers 1, heads 4" in run.text
