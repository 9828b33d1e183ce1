"""What a command loads: help needs nothing, the store's verbs need no screen, no SSH, no torch."""

from __future__ import annotations

import pytest

from cockpit.cli import VERBS
from cockpit.core.jobs import JobState
from tests.cli.desk import Desk
from tests.cli.test_contracts import a_job

HEAVY = ("textual", "asyncssh", "torch", "plotext", "numpy")
WITHOUT = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from cockpit.cli import main
try:
    main(sys.argv[1:])
finally:
    loaded = [name for name in {heavy!r} if sys.modules.get(name) is not None]
    print("LOADED", *loaded, file=sys.stderr)
"""
ALL_OF = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from cockpit.cli import main
for words in {commands!r}:
    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise
"""


def test_the_package_alone_loads_nothing(desk: Desk) -> None:
    code = f"import cockpit, sys; print([n for n in {HEAVY!r} + ('click',) if n in sys.modules])"
    assert desk.run(code=code).out == "[]\n"


def test_every_help_works_without_torch(desk: Desk) -> None:
    helps = [["--help"], *([verb, "--help"] for verb in VERBS)]
    answer = desk.run(code=ALL_OF.format(blocked=("torch",), commands=helps))
    assert answer.status == 0, answer.err
    assert answer.out.count("Usage: cockpit") == len(helps)
    assert all(f"Usage: cockpit {verb}" in answer.out for verb in VERBS)


@pytest.mark.parametrize(
    "words",
    [
        ("ps",),
        ("show", "1"),
        ("wait", "1"),
        ("submit", "--", "train.py"),
        ("cancel", "1", "--yes"),
        ("restart", "1"),
        ("--version",),
    ],
)
def test_verbs_of_the_store_load_no_screen_no_ssh_and_no_torch(
    desk: Desk, words: tuple[str, ...]
) -> None:
    desk.write(a_job(1, JobState.COMPLETED, 0))
    answer = desk.run(*words, code=WITHOUT.format(blocked=HEAVY, heavy=HEAVY))
    assert answer.status == 0, answer.err
    assert answer.err.splitlines()[-1] == "LOADED"
