"""`cockpit daemon`: the engine without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal

import click

from cockpit.cli.say import Failure, note, put_json
from cockpit.cli.setting import Setting


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object once it runs.")
@click.pass_obj
def daemon(setting: Setting, as_json: bool) -> None:
    """Run the engine until SIGTERM or ctrl+c; jobs on the nodes go on without it."""
    import os

    from cockpit.build.window import LOG_FORMAT, run_daemon
    from cockpit.engine.lock import EngineLock, holder

    place = setting.place()
    lock = EngineLock(place.paths.lock)
    if not lock.acquire():
        raise Failure(f"an engine of cluster {place.config.name} runs: {holder(place.paths.lock)}")
    store = place.store()
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    if as_json:
        put_json({"pid": os.getpid(), "cluster": place.config.name})
    note(f"the engine of cluster {place.config.name} runs; ctrl+c ends it, jobs go on")

    async def until_told() -> None:
        work = asyncio.create_task(run_daemon(place, store, lock))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await work

    asyncio.run(until_told())
    note("the engine ended; jobs on the nodes go on")
