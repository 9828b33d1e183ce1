"""The README's own script lines, run as they stand: killed, and restarted where they left off."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from cockpit_trainer.wire import Metrics
from tests.trainer.launched import launched

README = Path(__file__).parents[2] / "README.md"
AROUND = """\
import time

import torch

steps, save_every = 400, 3
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())


def train_one_step(step: int) -> float:
    time.sleep(0.05)
    optimizer.zero_grad()
    loss = model(torch.full((2, 4), float(step))).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


"""


def snippet() -> str:
    (found,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return str(found)


@pytest.mark.torch
def test_the_readmes_lines_save_when_told_to_stop_and_go_on_from_there(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(AROUND + snippet())
    command = [sys.executable, str(script)]
    saved_in = str(tmp_path / "saved")
    with launched(command, COCKPIT_CHECKPOINT_DIR=saved_in) as first:
        # In the first step the script took SIGTERM over; from the second on that is certain.
        first.wait_for(lambda line: isinstance(line, Metrics) and line.step > 1)
        first.process.send_signal(signal.SIGTERM)
        assert first.finish() == 143
    last = max(first.metrics)
    assert first.saved_steps[-1] == last
    with launched(command, COCKPIT_CHECKPOINT_DIR=saved_in) as second:
        again = second.wait_for(lambda line: isinstance(line, Metrics))
        assert isinstance(again, Metrics)
        assert again.step == last + 1
