"""The agent as one file: node sources, NVIDIA's binding and the trainer in a zip Python can run."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAIN = b"import sys\nfrom cockpit_node.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
_MEMBER_TIME = (1980, 1, 1, 0, 0, 0)
"""The same sources make the same bytes, so that a node keeps one agent a version."""


class BundleError(Exception):
    """This installation lacks a part of the agent; the text says which."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What a node runs."""

    data: bytes
    """A .pyz."""
    sha256: str
    """Its name on a node."""


@functools.cache
def agent() -> Agent:
    """Built once a process. Raises BundleError."""
    members = {"__main__.py": _MAIN, "trainer.zip": _zip(dict(_sources("cockpit_trainer")))}
    members |= _sources("cockpit_node")
    members["pynvml.py"] = _module("pynvml").read_bytes()
    data = _zip(members)
    return Agent(data, hashlib.sha256(data).hexdigest())


@functools.cache
def loader() -> str:
    """The program that takes the agent in on a node."""
    return (_module("cockpit_node").parent / "loader.py").read_text(encoding="utf-8")


def _sources(package: str) -> Iterator[tuple[str, bytes]]:
    root = _module(package).parent
    for path in root.rglob("*.py"):
        yield path.relative_to(root.parent).as_posix(), path.read_bytes()


def _module(name: str) -> Path:
    """The file of a module, found without running it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise BundleError(f"the Python module {name} is missing here: install gpu-cockpit again")
    return Path(spec.origin)


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _MEMBER_TIME)
            archive.writestr(info, members[name], zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()
