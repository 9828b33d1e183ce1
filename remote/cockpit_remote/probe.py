"""A first look at one host, for `cockpit init`: what it is, or why it cannot be used."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from cockpit.config import NodeConfig
from cockpit.engine.ports import Body, NodeEvent, NodeReading
from cockpit_remote.backoff import CONNECT_S
from cockpit_remote.failures import LinkFailed
from cockpit_remote.link import open_link
from cockpit_remote.waiting import first_of

READING_S = 15.0
"""For the first figures: NVML takes seconds to start without persistence mode."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One host as it answered."""

    alias: str
    address: str | None
    """IPv4 of its data plane."""
    python: str | None
    """Version that the agent runs on."""
    gpus: tuple[str, ...]
    """Names, one a GPU."""
    cores: int | None
    error: str | None
    """Why it cannot be used, and what to do; None where it can."""


async def probe_host(alias: str, ssh_config: Path | None) -> ProbeResult:
    """Connect once, look, and leave; never raises for what the host does."""
    first: asyncio.Future[Body] = asyncio.get_running_loop().create_future()

    def take(event: NodeEvent) -> None:
        if isinstance(event, NodeReading) and not first.done():
            first.set_result(event.reading)

    try:
        link = await open_link(NodeConfig(alias, alias), ssh_config, "init", take, CONNECT_S)
    except LinkFailed as failure:
        return ProbeResult(alias, None, None, (), None, failure.message)
    try:
        await first_of(first, link.ended, within_s=READING_S)
        return _result(alias, link.hello, first.result() if first.done() else None)
    finally:
        await link.close()


def _result(alias: str, hello: Body, reading: Body | None) -> ProbeResult:
    if reading is None:
        error, gpus = f"{alias} gave no figures within {READING_S:.0f} s: try again", ()
    else:
        error, gpus = None, tuple(gpu["name"] for gpu in reading["gpus"] or ())
    return ProbeResult(alias, hello["address"], hello["python"], gpus, hello["cores"], error)
