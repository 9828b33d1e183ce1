"""The agent is one small file, the same from the same sources, and the oldest Python takes it."""

from __future__ import annotations

import ast
import io
import subprocess
import zipfile
from pathlib import Path

import pytest

import cockpit_node
from cockpit_remote import bundle
from tests.remote.operator_seat import PYTHON_3_8


def test_the_same_sources_make_the_same_agent() -> None:
    first = bundle.agent()
    bundle.agent.cache_clear()
    assert bundle.agent() == first
    assert len(first.data) < 256 * 1024


def test_the_agent_carries_all_that_a_node_needs() -> None:
    with zipfile.ZipFile(io.BytesIO(bundle.agent().data)) as archive:
        names = set(archive.namelist())
        trainer = zipfile.ZipFile(io.BytesIO(archive.read("trainer.zip")))
    assert {"__main__.py", "pynvml.py", "cockpit_node/serve.py"} <= names
    assert "cockpit_node/probe/nvml.py" in names
    assert "cockpit_trainer/__init__.py" in trainer.namelist()


def test_no_source_of_the_node_is_newer_than_its_floor() -> None:
    for path in Path(cockpit_node.__file__).parent.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 8))


@pytest.mark.skipif(not Path(PYTHON_3_8).exists(), reason="no Python 3.8 here")
def test_every_module_of_the_node_is_imported_by_the_oldest_python(tmp_path: Path) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(bundle.agent().data)
    with zipfile.ZipFile(agent) as archive:
        files = [name for name in archive.namelist() if name.startswith("cockpit_node/")]
    modules = [name[:-3].replace("/", ".") for name in files if not name.endswith("__.py")]
    program = f"import sys; sys.path.insert(0, {str(agent)!r}); import {', '.join(modules)}"
    subprocess.run([PYTHON_3_8, "-I", "-c", program], check=True, timeout=60)
