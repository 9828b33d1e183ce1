"""Imports torch once, for the tests that call it in this process."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """torch, without its complaint about a NumPy that nobody here uses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
        module: ModuleType = pytest.importorskip("torch")
    return module
