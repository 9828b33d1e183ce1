"""What the trainer refuses before it imports anything, in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cockpit_trainer.options import read_options
from tests.trainer.launched import TRAINER


@pytest.fixture(autouse=True)
def _no_cockpit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COCKPIT_CHECKPOINT_DIR", "COCKPIT_RESUME_FROM", "RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--steps 0", "--steps must be 1 or more"),
        ("--steps many", "argument --steps: invalid int value: 'many'"),
        ("--keep -1", "--keep must not be negative"),
        ("--lr nan", "--lr must be above 0"),
        ("--min-step-seconds nan", "--min-step-seconds must not be negative"),
        ("--width 30", "--width 30 must be a multiple of --heads 4"),
        ("--checkpoint-every 5", "--checkpoint-every needs a --checkpoint-dir"),
        (
            "--resume-from /nowhere/step-1",
            "/nowhere/step-1 cannot be resumed from: it is not there",
        ),
        ("--stepz 3", "unrecognized arguments: --stepz 3"),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(
    arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_options(arguments.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"cockpit_trainer: {sentence}; see --help\n"


def test_an_incomplete_checkpoint_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "step-00000040"
    checkpoint.mkdir()
    monkeypatch.setenv("COCKPIT_RESUME_FROM", str(checkpoint))
    with pytest.raises(SystemExit):
        read_options([])
    assert "cannot be resumed from: its manifest cannot be read" in capsys.readouterr().err
    monkeypatch.setenv("RANK", "1")
    assert read_options([]).resume_from == checkpoint, "another rank may lack the disk"


def test_the_environment_names_the_checkpoint_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_options([]).checkpoint_dir is None
    monkeypatch.setenv("COCKPIT_CHECKPOINT_DIR", "/data/run")
    assert read_options([]).checkpoint_dir == Path("/data/run")
    assert read_options(["--checkpoint-dir", "/other"]).checkpoint_dir == Path("/other")


def test_help_needs_no_torch_and_training_without_it_says_how_to_get_it() -> None:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from cockpit_trainer.train import main"
    program = [sys.executable, "-I", "-S", "-c", f"{code}; sys.exit(main())", str(TRAINER)]
    helped = subprocess.run([*program, "--help"], capture_output=True, text=True, check=False)
    assert helped.returncode == 0, helped.stderr
    assert "--min-step-seconds" in helped.stdout
    refused = subprocess.run(program, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("There is no torch in ")
    assert "pip install 'torch>=2.4'" in refused.stderr
