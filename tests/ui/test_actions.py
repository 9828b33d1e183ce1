"""The registry of actions: keys are unique where they work, and every binding comes from it."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import cockpit.ui
from cockpit.ui.actions import ACTIONS, Context, of
from cockpit.ui.app import CockpitApp
from cockpit.ui.screens.cluster import ClusterScreen
from cockpit.ui.screens.events import EventsScreen
from cockpit.ui.screens.frame import Framed
from cockpit.ui.screens.job import JobScreen
from cockpit.ui.screens.launch import LaunchScreen
from cockpit.ui.screens.queue import QueueScreen

SCREENS = (ClusterScreen, QueueScreen, EventsScreen, JobScreen, LaunchScreen)


def classes() -> list[type[DOMNode]]:
    """Every screen and widget of the cockpit."""
    found: list[type[DOMNode]] = []
    for module in pkgutil.walk_packages(cockpit.ui.__path__, "cockpit.ui."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and issubclass(thing, DOMNode):
                found += [thing] if thing.__module__.startswith("cockpit.") else []
    return found


@pytest.mark.parametrize("context", list(Context))
def test_a_key_means_one_thing_in_a_context(context: Context) -> None:
    keys = Counter(key for action in of([context]) for key in action.keys)
    assert [key for key, times in keys.items() if times > 1] == []


@pytest.mark.parametrize("screen", SCREENS)
def test_a_key_means_one_thing_on_a_screen(screen: type[Framed]) -> None:
    meanings: dict[str, set[str]] = {}
    for action in of(screen.CONTEXTS):
        for key in action.keys:
            meanings.setdefault(key, set()).add(action.id)
    assert {key: ids for key, ids in meanings.items() if len(ids) > 1} == {}


def test_every_binding_is_in_the_registry() -> None:
    known = {(",".join(action.keys), action.id) for action in ACTIONS}
    for found in {*classes(), CockpitApp}:
        for binding in found.__dict__.get("BINDINGS", ()):
            assert isinstance(binding, Binding), found
            assert (binding.key, binding.action) in known, found


def test_every_action_of_the_app_exists() -> None:
    for action in of([Context.EVERYWHERE, Context.JOBS]):
        assert hasattr(CockpitApp, f"action_{action.name}"), action.id


def test_what_ends_work_asks_or_says_that_it_does_not() -> None:
    destructive = {action.id for action in ACTIONS if action.destructive}
    assert destructive == {"restart", "restart_now", "cancel", "kill"}
