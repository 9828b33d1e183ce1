"""What no linter checks: sizes, the oldest Python of each side, and places of one machine only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULE_LINES = 300
TEST_MODULE_LINES = 400
"""A test module tells many short stories, and splits less well."""
FUNCTION_LINES = 40

FLOORS: Mapping[str, tuple[int, int]] = {
    "remote/cockpit_node/": (3, 8),
    "trainer/cockpit_trainer/": (3, 9),
    "": (3, 11),
}
"""The oldest Python that must parse a file, by the first path prefix that fits."""

LONGER: Mapping[str, str] = {}
"""`path` or `path:function` that may be longer, and why that is better than a seam."""

ONE_MACHINE = re.compile(r"/(?:home|Users)/(?!me/|you/|lab\b|alice\b|bob\b|\{)[\w.-]+")
"""A home directory that is nobody's example."""


def complaints() -> Iterator[str]:
    """One line for each thing that is wrong, in the form `path:line: what, and what to do`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    for name in names:
        content = (ROOT / name).read_bytes()
        if b"\0" in content:
            continue
        text = content.decode()
        yield from _machine(name, text)
        if name.endswith(".py"):
            yield from _module(name, text)
    yield from (
        f"{entry}: is excused by LONGER, but is no longer there; remove the entry"
        for entry in LONGER
        if entry.partition(":")[0] not in names
    )


def _machine(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := ONE_MACHINE.search(line):
            yield f"{name}:{number}: {found[0]} is a place of one machine; take it from outside"


def _module(name: str, text: str) -> Iterator[str]:
    limit = TEST_MODULE_LINES if name.startswith("tests/") else MODULE_LINES
    lines = text.count("\n")
    if lines > limit and name not in LONGER:
        yield f"{name}:1: {lines} lines, {limit} allowed; find the seam"
    floor = next(version for prefix, version in FLOORS.items() if name.startswith(prefix))
    try:
        tree = ast.parse(text, name, feature_version=floor)
    except SyntaxError as error:
        version = ".".join(map(str, floor))
        yield f"{name}:{error.lineno}: not Python {version}: {error.msg}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(name, node)


def _function(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > FUNCTION_LINES and f"{name}:{node.name}" not in LONGER:
        yield (
            f"{name}:{node.lineno}: {node.name} has {lines} lines, "
            f"{FUNCTION_LINES} allowed; find the seam"
        )


def main() -> int:
    found = list(complaints())
    closing = f"{len(found)} complaints" if found else "Sizes, floors and paths are as they should"
    sys.stdout.write("".join(f"{line}\n" for line in [*found, closing]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
