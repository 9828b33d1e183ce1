"""What was typed, read as a command: plain or torchrun, with its own topology flags taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cockpit.core.request import BadRequest

_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_TOPOLOGY = {
    "nnodes": True,
    "nproc-per-node": True,
    "node-rank": True,
    "master-addr": True,
    "master-port": True,
    "local-addr": True,
    "rdzv-backend": True,
    "rdzv-endpoint": True,
    "rdzv-id": True,
    "rdzv-conf": True,
    "max-restarts": True,
    "log-dir": True,
    "redirects": True,
    "tee": True,
    "standalone": False,
}
"""torchrun options that the cockpit sets itself; True where one takes a value."""
_SHORT = {"-r": "redirects", "-t": "tee"}
_KEPT_SWITCHES = frozenset(
    {"run-path", "no-python", "module", "virtual-local-rank", "use-env", "use-agent-store"}
)
"""torchrun's other options that take no value (torch/distributed/run.py)."""
_PYTHON_WITH_VALUE = frozenset({"-W", "-X"})


@dataclass(frozen=True, slots=True)
class Command:
    """A typed command, understood."""

    target: tuple[str, ...]
    """What torchrun gets after its options, or the plain command as it runs."""
    torchrun: bool
    """torchrun was typed, so even one process runs under it."""
    python: str | None = None
    """Interpreter that was typed, to run torchrun and the script with."""
    script: str | None = None
    """File that must be there on every node."""
    options: tuple[str, ...] = ()
    """torchrun options that were typed and stay."""
    topology: Mapping[str, str] | None = None
    """torchrun options that were typed and are replaced."""


def parse(argv: Sequence[str]) -> Command:
    """Read a typed command. Raises BadRequest where it cannot be run."""
    if not argv:
        raise BadRequest("there is no command; write it after `--`, as in `-- train.py --lr 3e-4`")
    first, rest = argv[0], tuple(argv[1:])
    if first.rpartition("/")[2] == "torchrun":
        return _torchrun(None, rest)
    if _PYTHON.fullmatch(first):
        if rest[:1] == ("-m",) and rest[1:2] in (
            ("torch.distributed.run",),
            ("torch.distributed.launch",),
        ):
            return _torchrun(first, rest[2:])
        return _python(first, rest)
    if first == "-m":
        if not rest:
            raise BadRequest("`-m` needs the name of a module, as in `-- -m package.train`")
        return Command((first, *rest), torchrun=False)
    if first.startswith("-"):
        raise BadRequest(f"{first!r} is not a command; after `--` comes a script or a program")
    script = first if first.endswith(".py") or "/" in first else None
    return Command(tuple(argv), torchrun=False, script=script)


def _python(python: str, rest: tuple[str, ...]) -> Command:
    """`python [flags] script args`: flags other than -u must stay with the interpreter."""
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at] not in ("-m", "-c", "-"):
        at += 2 if rest[at] in _PYTHON_WITH_VALUE else 1
    flags, target = rest[:at], rest[at:]
    if not target:
        raise BadRequest(f"`{python}` needs a script or `-m module` to run")
    script = target[0] if target[0] not in ("-m", "-c", "-") else None
    if set(flags) <= {"-u"} and target[0] not in ("-c", "-"):
        return Command(target, torchrun=False, python=python, script=script)
    return Command((python, *rest), torchrun=False, script=script)


def _torchrun(python: str | None, rest: tuple[str, ...]) -> Command:
    kept: list[str] = []
    topology: dict[str, str] = {}
    words = list(rest)
    while words and words[0].startswith("-") and words[0] != "--":
        word = words.pop(0)
        if word == "-m":
            words.insert(0, word)
            break
        name, equals, value = word.lstrip("-").partition("=")
        name = _SHORT.get(word, name.replace("_", "-"))
        if name in _TOPOLOGY:
            if _TOPOLOGY[name] and not equals:
                value = words.pop(0) if words else ""
            topology[name] = value
            continue
        if name == "module":
            words.insert(0, "-m")
            break
        kept.append(word)
        if not equals and name not in _KEPT_SWITCHES and words:
            kept.append(words.pop(0))
    target = tuple(words[1:] if words[:1] == ["--"] else words)
    if not target or target == ("-m",):
        raise BadRequest("torchrun needs a script or `-m module` to run")
    script = None if target[0] == "-m" or "--no-python" in kept else target[0]
    return Command(target, True, python, script, tuple(kept), topology)


def typed_shape(argv: Sequence[str]) -> tuple[int | None, int | None]:
    """Nodes and processes a node that a typed torchrun names, None where it names none."""
    topology = parse(argv).topology or {}
    return _count(topology, "nnodes"), _count(topology, "nproc-per-node")


def _count(topology: Mapping[str, str], name: str) -> int | None:
    value = topology.get(name)
    return int(value) if value is not None and value.isdecimal() else None
