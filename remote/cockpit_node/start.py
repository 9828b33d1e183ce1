"""Starts a supervisor that no link, terminal or parent can take down with it."""

from __future__ import annotations

import os
import subprocess

from cockpit_node.archive import agent_command, inherited_descriptors
from cockpit_node.paths import RunPaths


def start_supervisor(paths: RunPaths) -> None:
    """Returns once it is on its own. Starting a second one for a run does no harm: it leaves.

    It forks once more itself, so the process that is waited for here is not the one that stays.
    """
    env = {key: value for key, value in os.environb.items() if key != b"COCKPIT_RUN"}
    log = os.open(
        paths.supervisor_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    try:
        subprocess.run(
            agent_command("supervise", paths.directory),
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            pass_fds=inherited_descriptors(),
            check=True,
        )
    finally:
        os.close(log)
