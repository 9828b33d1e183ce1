"""A line of a log in words, whatever a rank printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.core.log_text import metric, shown
from cockpit_trainer.wire import CheckpointSaved, Line, Metrics, Phase, format_line


def test_colours_are_dropped_and_everything_else_is_visible() -> None:
    assert shown(b"\x1b[1;31mred\x1b[0m \x1b[38:5:9mmore\x1b[m") == "red more"
    assert shown(b"\x1b[2Jgone?\x1b]0;t\x07") == "␛[2Jgone?␛]0;t␇"
    assert shown(b"a\tb") == "a       b"
    assert shown(b"x", 1234567) == "x… +1,234,567 bytes"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            Metrics(41200, 1.0, {"grad_norm": 0.5, "loss": 2.1134, "tokens_per_s": 128000.0}),
            "step 41,200  loss 2.113  tokens_per_s 128k  grad_norm 0.5",
        ),
        (CheckpointSaved(40, "/d/step-40"), "checkpoint step 40 complete: /d/step-40"),
        (Phase("saving", "step 40"), "phase saving step 40"),
        (Phase("evil\x1b[2J"), "phase evil␛[2J"),
    ],
)
def test_what_the_trainer_says_is_read_out(line: Line, words: str) -> None:
    assert metric(f" 10%|# |{format_line(line)}".encode()) == words


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    for text in (shown(data), metric(b"[cockpit] " + data) or ""):
        assert "\x1b" not in text
        assert "\n" not in text
