"""What a machine cannot run is left out in one sentence, or an error where demanded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

REPOSITORY = Path(__file__).resolve().parents[2]


def collect_without_namespaces(**environment: str) -> subprocess.CompletedProcess[str]:
    argv = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-m", "pytest", "-q"]
    return subprocess.run(
        [*argv, "--collect-only", "tests/cluster/test_lab.py"],
        check=False,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
    )


def test_without_namespaces_the_cluster_tests_are_left_out_in_one_sentence() -> None:
    ended = collect_without_namespaces(COCKPIT_DEMAND_CLUSTER="")
    (sentence,) = [line for line in ended.stdout.splitlines() if "`cluster`" in line]
    assert "cannot run: namespaces are refused" in sentence
    assert ended.returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_demanded_cluster_tests_that_cannot_run_are_an_error() -> None:
    ended = collect_without_namespaces(COCKPIT_DEMAND_CLUSTER="1")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "COCKPIT_DEMAND_CLUSTER=1 demands them" in ended.stderr
