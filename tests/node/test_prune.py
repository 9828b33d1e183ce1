"""Old agents and trainers go, and nothing that is in use or a person's."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from cockpit_node.prune import UNUSED_S, prune
from tests.node.rig import Rig


def lay(directory: Path, name: str, age_s: float) -> Path:
    path = directory / name
    path.write_bytes(b"x")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_only_what_is_old_unused_and_our_own_is_removed(tmp_path: Path) -> None:
    old, young = UNUSED_S + 60, UNUSED_S - 60
    gone = [f"{'a' * 64}.pyz", f"trainer-{'b' * 64}.zip", f"trainer-{'b' * 64}.zip.77.tmp"]
    for name in [*gone, ".agent-x_1y"]:
        lay(tmp_path, name, old)
    used, imported = f"{'c' * 64}.pyz", f"trainer-{'d' * 64}.zip"
    kept = [lay(tmp_path, f"{'e' * 64}.pyz", young), lay(tmp_path, "notes.pyz", old)]
    kept += [lay(tmp_path, used, old), lay(tmp_path, imported, old)]
    words = ["sh", "-c", "read line", str(tmp_path / used)]
    env = {"PYTHONPATH": f"/x:{tmp_path / imported}"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=env):
        prune(str(tmp_path), time.time())
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    prune(str(tmp_path / "nowhere"), time.time())


def test_the_run_of_a_supervisor_that_has_gone_is_kept(rig: Rig) -> None:
    paths = rig.start(rig.spec(["true"]))
    rig.ended(paths)
    prune(rig.node.root, time.time() + 2 * UNUSED_S)
    prune(os.path.join(rig.node.root, "agent"), time.time() + 2 * UNUSED_S)
    assert os.path.exists(paths.exit)
