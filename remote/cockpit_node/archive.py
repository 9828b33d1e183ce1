"""The file that this agent runs from, and what is shipped inside it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import zipimport

import cockpit_node
from cockpit_node.unessential import unessential

AGENTS = "agent"
"""Where agents and trainers are kept, below the state root."""
_TRAINER = "trainer.zip"


def own_archive() -> str | None:
    """The .pyz that this code was imported from; None in a source tree."""
    loader = getattr(cockpit_node, "__loader__", None)
    return loader.archive if isinstance(loader, zipimport.zipimporter) else None


def agent_command(*words: str) -> list[str]:
    """argv of another process of this same agent."""
    archive = own_archive()
    if archive is not None:
        return [sys.executable, "-I", archive, *words]
    source = os.path.dirname(os.path.dirname(os.path.abspath(cockpit_node.__file__)))
    code = (
        f"import sys; sys.path.insert(0, {source!r}); "
        "from cockpit_node.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-I", "-c", code, *words]


def inherited_descriptors() -> tuple[int, ...]:
    """What another process of this agent must inherit: the agent itself, where it is in memory."""
    prefix = "/proc/self/fd/"
    archive = own_archive() or ""
    return (int(archive[len(prefix) :]),) if archive.startswith(prefix) else ()


def trainer_path(root: str) -> str | None:
    """What a job needs on PYTHONPATH to import cockpit_trainer, kept below the state root."""
    archive = own_archive()
    if archive is None:
        spec = importlib.util.find_spec("cockpit_trainer")
        places = spec.submodule_search_locations if spec is not None else None
        return os.path.dirname(next(iter(places))) if places else None
    try:
        data = zipimport.zipimporter(archive).get_data(_TRAINER)
    except OSError:
        return None
    return _kept(data, os.path.join(root, AGENTS))


def touch(*kept: str | None) -> None:
    """Keep files young that are in use; also on another machine, where the home is shared."""
    for path in kept:
        if path is not None:
            with unessential(f"{path} could not be kept young"):
                os.utime(path)


def _kept(data: bytes, directory: str) -> str:
    path = os.path.join(directory, f"trainer-{hashlib.sha256(data).hexdigest()}.zip")
    if os.path.exists(path) and os.path.getsize(path) == len(data):
        touch(path)
        return path
    os.makedirs(directory, mode=0o700, exist_ok=True)
    partial = f"{path}.{os.getpid()}.tmp"
    try:
        with open(partial, "wb") as file:
            file.write(data)
        os.rename(partial, path)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
    return path
