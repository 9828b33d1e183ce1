"""Prints metric lines whole, so that the lines of several ranks on one pipe do not mix."""

from __future__ import annotations

import os
import sys

from cockpit_trainer.wire import Line, Phase, format_line


def emit(line: Line) -> None:
    say(format_line(line))


def emit_phase(name: str, detail: str = "") -> None:
    """Say what this node is doing: once a node, by its first rank."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        emit(Phase(name, detail))


def say(sentence: str) -> None:
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


def complain(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
