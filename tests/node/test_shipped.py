"""The agent as a node gets it: one file, run by whatever Python the node has."""

from __future__ import annotations

import ast
import io
import shutil
import subprocess
import sys
import zipapp
import zipfile
from pathlib import Path

import pytest

import cockpit_node

SOURCES = Path(cockpit_node.__file__).parent
STORY = Path(__file__).with_name("story.py")


def pythons() -> list[str]:
    """This one, and the oldest that nodes may have if this machine has it."""
    places = [Path(found) for found in [shutil.which("python3.8")] if found]
    places += Path.home().glob(".pyenv/versions/3.8*/bin/python3.8")
    return [sys.executable, *(str(place) for place in places if runs_at_all(place))][:2]


def runs_at_all(python: Path) -> bool:
    asked = subprocess.run([python, "--version"], capture_output=True, check=False)
    return asked.returncode == 0


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The sources and a trainer's zip in one .pyz."""
    inside = tmp_path / "inside"
    shutil.copytree(SOURCES, inside / "cockpit_node", ignore=shutil.ignore_patterns("__pycache__"))
    trainer = io.BytesIO()
    with zipfile.ZipFile(trainer, "w") as file:
        file.writestr("cockpit_trainer/__init__.py", "")
    (inside / "trainer.zip").write_bytes(trainer.getvalue())
    (inside / "__main__.py").write_text(
        "import sys\nfrom cockpit_node.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    made = tmp_path / "agent.pyz"
    zipapp.create_archive(inside, made)
    return made


@pytest.mark.parametrize("python", pythons(), ids=["this", "oldest"][: len(pythons())])
def test_a_run_is_supervised_by_the_shipped_file(
    python: str, archive: Path, tmp_path: Path
) -> None:
    words = [python, "-E", str(STORY), str(archive), str(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    first, last = told.stdout.splitlines()
    assert last == "saved"
    trainer = Path(first.rpartition(":")[2])
    assert zipfile.is_zipfile(trainer)
    assert trainer.parent == tmp_path / "state" / "agent"


@pytest.mark.parametrize("source", sorted(SOURCES.rglob("*.py")), ids=lambda path: path.name)
def test_every_module_is_python_3_8(source: Path) -> None:
    ast.parse(source.read_text(), feature_version=(3, 8))
