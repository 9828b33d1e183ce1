"""What the screens stand on, when the store beneath it is in trouble."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from cockpit.build.model import LiveModel
from cockpit.build.place import Place
from cockpit.config import Config, NodeConfig
from cockpit.engine.paths import StatePaths
from tests.core.play import asked


def place(directory: Path) -> Place:
    paths = StatePaths(directory / "state")
    paths.make()
    return Place(Config("lab", (NodeConfig("a", "a"),), directory / "cockpit.toml"), None, paths)


def rename_table(path: Path, old: str, new: str) -> None:
    with sqlite3.connect(path) as damage:
        damage.execute(f"ALTER TABLE {old} RENAME TO {new}")
    damage.close()


def test_an_order_that_cannot_be_written_is_said_and_not_lost_in_silence(tmp_path: Path) -> None:
    here = place(tmp_path)
    store = here.store()
    model = LiveModel(here, store)
    rename_table(here.paths.store, "orders", "hidden")
    model.submit(asked())
    assert "job1 was NOT taken" in model.alert
    model.cancel(7)
    assert "the order to cancel job 7 was NOT taken" in model.alert
    rename_table(here.paths.store, "hidden", "orders")
    model.cancel(7)
    assert model.alert == ""
    assert [order.job for order in store.orders()] == [7]
    store.close()


def test_curves_and_history_of_a_damaged_store_end_no_screen(tmp_path: Path) -> None:
    here = place(tmp_path)
    store = here.store()
    model = LiveModel(here, store)
    rename_table(here.paths.store, "metrics", "hidden")
    rename_table(here.paths.store, "history", "hidden_too")
    assert model.metrics(1) == {}
    assert model.happenings() == []
    store.close()
