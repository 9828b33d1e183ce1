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
_KEPT = {
    "monitor-interval": True,
    "start-method": True,
    "event-log-handler": True,
    "role": True,
    "local-ranks-filter": True,
    "duplicate-stdout-filters": True,
    "duplicate-stderr-filters": True,
    "logs-specs": True,
    "numa-binding": True,
    "signals-to-handle": True,
    "shutdown-timeout": True,
    "module": False,
    "no-python": False,
    "run-path": False,
    "virtual-local-rank": False,
    "use-env": False,
    "use-agent-store": False,
}
"""torchrun's other options (torch/distributed/run.py); True where one takes a value."""
_OPTIONS = {**_TOPOLOGY, **_KEPT}
_SHORT = {"-r": "redirects", "-t": "tee", "-m": "module"}
_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")
"""Modules that are torchrun under another name."""
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
        return _python(first, rest)
    if first == "-m":
        if not rest:
            raise BadRequest("`-m` needs the name of a module, as in `-- -m package.train`")
        return _torchrun(None, rest[1:]) if rest[0] in _LAUNCHERS else Command(tuple(argv), False)
    if first.startswith("-"):
        raise BadRequest(f"{first!r} is not a command; after `--` comes a script or a program")
    script = first if first.endswith(".py") or "/" in first else None
    return Command(tuple(argv), torchrun=False, script=script)


def _python(python: str, rest: tuple[str, ...]) -> Command:
    """`python [flags] script args`: flags other than -u must stay with the interpreter."""
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at][:2] not in ("-m", "-c", "-"):
        at += 2 if rest[at] in _PYTHON_WITH_VALUE else 1
    flags, target = rest[:at], rest[at:]
    if target and target[0].startswith("-m") and target[0] != "-m":
        target = ("-m", target[0][2:], *target[1:])
    if not target or target == ("-m",):
        raise BadRequest(f"`{python}` needs a script or `-m module` to run")
    if target[0] == "-m" and target[1] in _LAUNCHERS:
        return _torchrun(python, target[2:])
    is_code = target[0].startswith("-c") or target[0] == "-"
    script = None if is_code or target[0] == "-m" else target[0]
    if set(flags) <= {"-u"} and not is_code:
        return Command(target, torchrun=False, python=python, script=script)
    return Command((python, *flags, *target), torchrun=False, script=script)


def _torchrun(python: str | None, rest: tuple[str, ...]) -> Command:
    kept: list[str] = []
    topology: dict[str, str] = {}
    words, is_module = list(rest), False
    while words and words[0].startswith("-") and words[0] != "--":
        word = words.pop(0)
        name, value = _option(word)
        takes_value = _OPTIONS.get(name, True)
        if takes_value and value is None and words:
            value = words.pop(0)
        if name == "module":
            is_module = True
        elif name in _TOPOLOGY:
            topology[name] = value or ""
        else:
            kept.append(f"--{name}={value}" if takes_value and value is not None else f"--{name}")
    target = tuple(words[1:] if words[:1] == ["--"] else words)
    if not target:
        raise BadRequest("torchrun needs a script or `-m module` to run")
    if is_module:
        return Command(("-m", *target), True, python, None, tuple(kept), topology)
    script = None if "--no-python" in kept else target[0]
    return Command(target, True, python, script, tuple(kept), topology)


def _option(word: str) -> tuple[str, str | None]:
    """Name of a torchrun option, as argparse finds it, and the value if it is in the same word."""
    if word[:2] in _SHORT:
        return _SHORT[word[:2]], word[2:].removeprefix("=") or None
    name, equals, value = word.lstrip("-").partition("=")
    name = name.replace("_", "-")
    meant = [known for known in _OPTIONS if known.startswith(name)]
    if name not in _OPTIONS and len(meant) == 1:
        name = meant[0]
    return name, value if equals else None


def default_name(argv: Sequence[str]) -> str:
    """A job's name from its script or module: `train` of `python -u src/train.py`."""
    command = parse(argv)
    target = command.target
    word = target[1] if target[0] == "-m" else command.script or target[0]
    stem = word.rpartition("/")[2].removesuffix(".py")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-")[:64] or "job"


def shape(argv: Sequence[str], nodes: int | None, gpus: int | None) -> tuple[int, int]:
    """Nodes and GPUs a node: as asked for, else as a typed torchrun has it, else 1.

    Raises BadRequest where torchrun was to find out by itself.
    """
    topology = parse(argv).topology or {}
    return (
        nodes or _count(topology, "nnodes", "--nodes 2"),
        gpus or _count(topology, "nproc-per-node", "--gpus 8"),
    )


def _count(topology: Mapping[str, str], name: str, instead: str) -> int:
    value = topology.get(name, "1")
    if not value.isdecimal() or len(value) > 6:
        raise BadRequest(
            f"torchrun's --{name} {value}: the cockpit allocates a number; say it, as in {instead}"
        )
    return int(value)


def replaced(argv: Sequence[str], nodes: int, gpus: int) -> list[str]:
    """What of a typed torchrun's topology does not hold, in sentences; empty where all agrees."""
    typed = dict(parse(argv).topology or {})
    found: list[str] = []
    for name, option, count in (("nnodes", "-N", nodes), ("nproc-per-node", "-G", gpus)):
        value = typed.pop(name, None)
        if value is not None and value != str(count):
            found.append(f"typed --{name} {value} is replaced by {option} {count}")
    ours = [f"--{name} {value}" for name, value in typed.items() if value]
    if ours:
        verb = "is" if len(ours) == 1 else "are"
        found.append(f"typed {', '.join(ours)} {verb} left out: the cockpit sets its own")
    return found
