"""Leaves out the tests that this machine cannot run, and says so."""

from __future__ import annotations

import os

import pytest

from tests.cluster.requirements import WHY_NOT

pytest_plugins = ["tests.cluster.fixtures"]

DEMAND = "COCKPIT_DEMAND_CLUSTER"
"""Set to 1 where every test must run: what the machine lacks is then an error."""
LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out: list[str] = []
    for marker, why_not in WHY_NOT.items():
        needing = [item for item in items if item.get_closest_marker(marker) is not None]
        if needing and (reason := why_not()) is not None:
            sentence = f"{len(needing)} tests marked `{marker}` cannot run: {reason}"
            if os.environ.get(DEMAND) == "1":
                raise pytest.UsageError(f"{sentence} ({DEMAND}=1 demands them.)")
            left_out.append(sentence)
            config.hook.pytest_deselected(items=needing)
            items[:] = [item for item in items if item not in needing]
    config.stash[LEFT_OUT] = left_out


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return config.stash.get(LEFT_OUT, [])
