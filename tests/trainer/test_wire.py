"""Metric lines: what is written is read back, and nothing else ever is."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cockpit_trainer
from cockpit_trainer.wire import (
    LINE_LIMIT,
    CheckpointSaved,
    Line,
    Metrics,
    Phase,
    format_line,
    parse_line,
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
steps = st.integers(0, 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
lines: st.SearchStrategy[Line] = st.one_of(
    st.builds(Metrics, steps, finite, st.dictionaries(words, st.floats(allow_nan=False))),
    st.builds(CheckpointSaved, steps, words),
    st.builds(Phase, words, words),
)


@given(lines, st.sampled_from(["", " 50%|###  | 12/24\r", "[cockpit] ", "[cockpit] {}"]))
def test_what_is_written_is_read_back_whatever_stands_before_it(line: Line, before: str) -> None:
    text = format_line(line)
    assert text.isascii()
    assert "\n" not in text
    assert parse_line(before + text) == line
    assert parse_line(before + text + "\r\n") == line


def test_the_line_is_the_documented_one() -> None:
    line = Metrics(120, 1700000000.5, {"loss": 2.1, "mfu": math.nan, "low": -math.inf})
    assert format_line(line) == (
        '[cockpit] {"v":1,"kind":"metrics","step":120,"time":1700000000.5,'
        '"values":{"loss":2.1,"mfu":"nan","low":"-inf"}}'
    )
    read = parse_line(format_line(line))
    assert isinstance(read, Metrics)
    assert math.isnan(read.values["mfu"])
    assert read.values["low"] == -math.inf


@given(st.text(max_size=200))
def test_no_text_is_fatal(text: str) -> None:
    parse_line(text)
    parse_line("[cockpit] " + text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | words, st.lists))
def test_no_value_in_any_place_is_fatal(value: object) -> None:
    whole = {"v": 1, "kind": "metrics", "step": 1, "time": 1.0, "values": {"loss": 1.0}}
    for place in whole:
        parse_line("[cockpit] " + json.dumps({**whole, place: value}))


@pytest.mark.parametrize(
    "body",
    [
        '{"v":2,"kind":"metrics","step":1,"time":1,"values":{}}',
        '{"v":true,"kind":"metrics","step":1,"time":1,"values":{}}',
        '{"v":1,"kind":"weather","step":1}',
        '{"v":1,"kind":"metrics","step":-1,"time":1,"values":{}}',
        '{"v":1,"kind":"metrics","step":9223372036854775808,"time":1,"values":{}}',
        '{"v":1,"kind":"metrics","step":1.0,"time":1,"values":{}}',
        '{"v":1,"kind":"metrics","step":1,"time":"nan","values":{}}',
        '{"v":1,"kind":"metrics","step":1,"time":1,"values":[1]}',
        '{"v":1,"kind":"metrics","step":1,"time":1,"values":{"a":true}}',
        '{"v":1,"kind":"metrics","step":1,"time":1,"values":{"a":null}}',
        '{"v":1,"kind":"metrics","step":1,"time":1,"values":{"a":"Infinity"}}',
        '{"v":1,"kind":"metrics","step":1,"time":1,"values":{"a":1' + "0" * 400 + "}}",
        '{"v":1,"kind":"checkpoint","step":1,"path":"\\ud800"}',
        '{"v":1,"kind":"phase","name":["saving"],"detail":""}',
        '{"v":1,"kind":"phase","name":"saving"',
        '["v"]',
        "[" * 60_000,
        "9" * 60_000,
        "",
    ],
)
def test_a_line_that_is_not_ours_is_none(body: str) -> None:
    assert parse_line("[cockpit] " + body) is None


def test_an_endless_line_is_neither_read_nor_written() -> None:
    whole = format_line(Phase("saving"))
    assert parse_line(" " * LINE_LIMIT + whole) is None
    with pytest.raises(ValueError, match="log fewer values"):
        format_line(Phase("x" * LINE_LIMIT))


def test_reading_lines_needs_neither_torch_nor_a_new_python() -> None:
    code = "import sys, cockpit_trainer.wire; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    for path in Path(cockpit_trainer.__path__[0]).glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))
