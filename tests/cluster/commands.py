"""Runs the system's own tools and turns a refusal into words."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


class CommandFailed(RuntimeError):
    """A tool of the system refused; the message carries its own words."""


def run(argv: Sequence[str], *, stdin: str = "") -> str:
    """Runs `argv` to its end and returns what it printed; raises `CommandFailed` otherwise."""
    ended = subprocess.run(argv, input=stdin, check=False, capture_output=True, text=True)
    if ended.returncode != 0:
        raise CommandFailed(
            f"`{' '.join(argv)}` ended with {ended.returncode}: {ended.stderr.strip()}\n{stdin}"
        )
    return ended.stdout


def ip(*lines: str, namespace: str | None = None) -> None:
    """Carries out `ip` command lines in one process, in a named network namespace if given."""
    where = ["-n", namespace] if namespace else []
    run(["ip", *where, "-batch", "-"], stdin="\n".join(lines) + "\n")
