"""`cockpit init`: write cockpit.toml from hosts that answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cockpit.cli.say import NO_CONNECTION, Failure, note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.config import NAME

if TYPE_CHECKING:
    from cockpit_remote.probe import ProbeResult

_HEAD = """\
# The nodes of one cluster, in the order of ranks. `cockpit` finds this file upwards from where it
# is started, or as ~/.config/cockpit/cockpit.toml. How a node is reached is for ~/.ssh/config.
version = 1

[cluster]
name = "{name}"
"""
_OPTIONS = """\
# address = "10.0.0.1"      # where the name here is not the SSH alias
# slots = 4                 # CPU slots, where there is no GPU
# interface = "eth0"        # network of the data plane, for rendezvous, gloo and NCCL
# python = "/opt/venv/bin/python"   # for jobs that name none
# workdir = "/home/me/project"      # for jobs that name none
# state_dir = "/scratch/me/cockpit" # instead of ~/.local/state/cockpit-node
# env = {{ NCCL_DEBUG = "WARN" }}     # for every job on this node
"""


@click.command()
@click.argument("hosts", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every host of the SSH configuration.")
@click.option("--name", default="lab", show_default=True, help="Name of the cluster.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("cockpit.toml"),
              show_default=True, help="File to write.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a host.")
@click.pass_obj
def init(
    setting: Setting,
    hosts: tuple[str, ...],
    every: bool,
    name: str,
    output: Path,
    force: bool,
    as_json: bool,
) -> int:
    """Look at HOSTS over SSH and write cockpit.toml; 255 if none of them can be used."""
    if output.exists() and not force:
        raise Failure(f"{output} is there already; give --force to replace it, or -o another name")
    if not NAME.fullmatch(name):
        raise Failure(f"cluster name {name!r}: use letters, digits, `.`, `_` and `-`")
    chosen = _choose(setting.ssh_config, hosts, every)
    results = asyncio.run(_probe(chosen, setting.ssh_config))
    for result in results:
        if as_json:
            put_json(asdict(result))
        else:
            put(_line(result))
    if all(result.error for result in results):
        note("none of them can be used, so nothing was written")
        return NO_CONNECTION
    output.write_text(_toml(name, results), encoding="utf-8")
    note(f"wrote {output}; `cockpit` opens the screen")
    return 0


def _choose(ssh_config: Path | None, hosts: Sequence[str], every: bool) -> list[str]:
    from cockpit_remote.hosts import aliases, default_config

    path = ssh_config or default_config()
    known = aliases(path)
    if every:
        hosts = known
    if not hosts and sys.stdin.isatty() and known:
        note(f"hosts in {path}: {' '.join(known)}")
        hosts = click.prompt("Which of them", default=" ".join(known), err=True).split()
    if not hosts:
        listed = f" ({' '.join(known)})" if known else ""
        raise Failure(f"name the hosts, as in `cockpit init gpu1 gpu2`, or give --all{listed}")
    for host in hosts:
        if not NAME.fullmatch(host):
            raise Failure(f"{host!r} cannot be a node's name; give it an alias in {path}")
    return list(dict.fromkeys(hosts))


async def _probe(hosts: Sequence[str], ssh_config: Path | None) -> list[ProbeResult]:
    from cockpit_remote.probe import probe_host

    turns = asyncio.Semaphore(8)

    async def one(host: str) -> ProbeResult:
        async with turns:
            return await probe_host(host, ssh_config)

    return await asyncio.gather(*map(one, hosts))


def _line(result: ProbeResult) -> str:
    if result.error:
        return f"{result.alias}: {result.error}"
    gpus = f"{len(result.gpus)} x {result.gpus[0]}" if result.gpus else "no GPU"
    return f"{result.alias}: {result.address}, {gpus}, {result.cores} cores, Python {result.python}"


def _toml(name: str, results: Sequence[ProbeResult]) -> str:
    text = _HEAD.format(name=name)
    first = True
    for result in results:
        table = f'[nodes."{result.alias}"]' if "." in result.alias else f"[nodes.{result.alias}]"
        if result.error:
            text += f"\n# {_comment(result.error)}\n# {table}\n"
            continue
        text += f"\n# {_comment(_line(result))}\n{table}\n"
        if not result.gpus:
            text += f"slots = {result.cores or 1}\n"
        text += _OPTIONS.format() if first else ""
        first = False
    return text


def _comment(text: str) -> str:
    from cockpit.core.text import visible

    return visible(" ".join(text.split()))
