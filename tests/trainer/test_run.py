"""A script of one's own, with the three lines that make it resumable."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from cockpit_trainer.wire import CheckpointSaved, Metrics
from tests.trainer.launched import launched

pytestmark = pytest.mark.torch

SCRIPT = """
import random, sys, time, torch
from cockpit_trainer import run

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = run.resume()
if state is not None:
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
for step in range(state.step if state else 0, int(sys.argv[1])):
    loss = model(torch.rand(2, 4) * random.random()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(float(sys.argv[2]))
    run.log(step + 1, loss=loss)
    if step + 1 == 3 or run.should_save():
        run.save(step + 1, {"model": model, "optimizer": optimizer})
    if run.should_stop():
        sys.exit(143)
print("sum", model.weight.sum().item().hex())
"""

CATCHING = """
import signal
from cockpit_trainer import run

def caught():
    return [signal.getsignal(s) != signal.SIG_DFL for s in (signal.SIGUSR1, signal.SIGTERM)]

run.resume(); print(caught())
run.should_save(); print(caught())
run.should_stop(); print(caught())
"""


def test_a_plain_loop_saves_stops_and_resumes_with_its_random_numbers(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import os; os.chdir(os.path.dirname(__file__))" + SCRIPT)
    seeded = tmp_path / "seeded.py"
    seeded.write_text(script.read_text().replace("model =", "torch.manual_seed(1)\nmodel =", 1))
    with launched([sys.executable, str(seeded), "8", "0"]) as run:
        assert run.finish() == 0, run.text
    assert sorted(run.metrics) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.saved_steps == [3]
    checkpoint = tmp_path / "checkpoints" / "step-00000003"
    assert checkpoint.is_dir(), "without a cockpit they go below the working directory"
    whole = run.output[-1]
    assert whole.startswith("sum ")

    resuming = {"COCKPIT_RESUME_FROM": str(checkpoint), "COCKPIT_CHECKPOINT_DIR": str(tmp_path)}
    with launched([sys.executable, str(script), "8", "0"], **resuming) as run:
        assert run.finish() == 0, run.text
    assert sorted(run.metrics) == [4, 5, 6, 7, 8]
    assert run.output[-1] == whole, "the random numbers went on where they were"

    with launched([sys.executable, str(script), "1000", "0.05"], **resuming) as run:
        run.wait_for(lambda line: isinstance(line, Metrics) and line.step > 5)
        run.process.send_signal(signal.SIGUSR1)
        asked_for = run.wait_for(lambda line: isinstance(line, CheckpointSaved))
        run.process.terminate()
        assert run.finish() == 143, run.text
    assert isinstance(asked_for, CheckpointSaved)
    assert asked_for.path == str(tmp_path / f"step-{asked_for.step:08d}")
    assert len(run.saved_steps) == 2, "once for SIGUSR1, once for SIGTERM"


def test_a_signal_is_left_alone_until_somebody_will_act_on_it(tmp_path: Path) -> None:
    with launched([sys.executable, "-c", CATCHING], COCKPIT_CHECKPOINT_DIR=str(tmp_path)) as run:
        assert run.finish() == 0, run.text
    assert "".join(run.output[-3:]) == "[False, False]\n[True, False]\n[True, True]\n"


def test_ranks_that_have_not_met_are_told_to_meet_first(tmp_path: Path) -> None:
    script = "from cockpit_trainer import run; run.log(1, loss=2.0); run.resume()"
    ranks = {"RANK": "0", "WORLD_SIZE": "2", "COCKPIT_CHECKPOINT_DIR": str(tmp_path)}
    with launched([sys.executable, "-c", script], **ranks) as run:
        assert run.finish() == 1
    assert run.metrics[1] == {"loss": 2.0}
    assert "call torch.distributed.init_process_group() before this function" in run.text
