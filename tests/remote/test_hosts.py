"""Hosts of an ssh configuration."""

from __future__ import annotations

from pathlib import Path

from cockpit_remote.hosts import aliases


def test_only_hosts_that_can_be_connected_to_are_listed(tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.write_text("host = gpu9\n  HostName 10.0.0.9\nHost gpu1\n")
    config = tmp_path / "config"
    config.write_text(
        f'Host gpu1 gpu2 # two\n  User me\nHost *.lab !gpu3\nHost "gpu4"\nInclude {more}\n'
        "Host *\n  ServerAliveInterval 5\nMatch host gpu7\nHost 'unfinished\n"
    )
    assert aliases(config) == ["gpu1", "gpu2", "gpu4", "gpu9"]


def test_a_configuration_that_includes_itself_ends(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Include {config}\nHost gpu1\n")
    assert aliases(config) == ["gpu1"]


def test_no_configuration_names_no_host(tmp_path: Path) -> None:
    assert aliases(tmp_path / "absent") == []
