"""Names of nodes as Slurm folds them: `gpu[1-3,7],head`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d{1,15})")


def folded(names: Iterable[str]) -> str:
    """In the order given; neighbours that differ only in a last number share a bracket."""
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        stem, number = (match[1], match[2]) if match else (name, "")
        if number and groups and groups[-1][0] == stem and groups[-1][1]:
            groups[-1][1].append(number)
        else:
            groups.append((stem, [number] if number else []))
    return ",".join(_spell(stem, numbers) for stem, numbers in groups)


def _spell(stem: str, numbers: list[str]) -> str:
    if len(numbers) < 2:
        return stem + "".join(numbers)
    runs: list[list[str]] = []
    for number in numbers:
        if runs and int(number) == int(runs[-1][-1]) + 1 and len(number) >= len(runs[-1][-1]):
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"{stem}[{','.join(words)}]"
