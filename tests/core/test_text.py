"""What a terminal would obey never comes out of `visible`."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.core.text import decoded, visible


def test_plain_text_stays_as_it_is() -> None:
    for text in ("", "loss 2.1", "a\tb", "训练任务", "naïve [/] [bold] [link=x]", "\U0001f680 ok"):
        assert visible(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"),
        ("\x9b2J", "\\x9b2J"),
        ("a\x00b\x7f", "a␀b␡"),
        ("two\nlines\r", "two␊lines␍"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("ad\u200bmin\ufeff", "ad\\u200bmin\\ufeff"),
        ("blank \u3164\u115f", "blank \\u3164\\u115f"),
        ("x\U000e0041", "x\\U000e0041"),
        ("half \ud83d pair", "half \\ud83d pair"),
    ],
)
def test_controls_become_something_to_read(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


def test_bytes_that_are_not_utf8_are_spelled() -> None:
    assert visible(decoded(b"ok \xff\x9b caf\xc3\xa9")) == "ok \\xff\\x9b café"


def test_a_long_text_says_how_much_is_missing() -> None:
    assert visible("x" * 10, limit=4) == "xxxx… +6 characters"
    assert visible("x" * 10, limit=10) == "x" * 10
    assert len(visible("y" * 10_000_000)) < 5000


@given(st.text(alphabet=st.characters(), max_size=200))
def test_no_control_and_no_surrogate_is_left_and_it_is_stable(text: str) -> None:
    shown = visible(text)
    left = {char for char in shown if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")}
    assert left <= {"\t"}
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(st.binary(max_size=200))
def test_any_bytes_can_be_shown(data: bytes) -> None:
    visible(decoded(data)).encode("utf-8")
