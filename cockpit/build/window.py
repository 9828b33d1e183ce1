"""The cockpit in a terminal: the engine inside if nobody runs it yet, a second window else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import time

from cockpit.build.links import open_nodes
from cockpit.build.model import LiveModel
from cockpit.build.place import Place
from cockpit.engine.lock import EngineLock, holder
from cockpit.engine.loop import Engine
from cockpit.engine.store import Store
from cockpit.engine.viewer import Viewer

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
TAKEOVER_S = 10.0
"""For a daemon to start on a busy machine."""

_log = logging.getLogger(__name__)


async def show(place: Place, leaving: str = "") -> str:
    """Until the person leaves; returns what to say after. `leaving` is what leaving ends, in words."""
    from cockpit.ui.app import CockpitApp

    logging.basicConfig(filename=place.paths.log, level=logging.WARNING, format=LOG_FORMAT)
    store = place.store()
    model = LiveModel(place, store)
    app = CockpitApp(model, leaving=leaving)
    lock = EngineLock(place.paths.lock)
    work = asyncio.create_task(_serve(place, model, lock))
    try:
        farewell = await app.run_async() or ""
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        lock.release()
        store.close()
    if model.daemon_wanted:
        return f"{farewell}\n{_leave_daemon(place)}"
    return farewell


def _leave_daemon(place: Place) -> str:
    """An engine of its own session, which outlives this terminal; what to say of it."""
    options = ["--config", str(place.config.path.resolve())]
    if place.ssh_config is not None:
        options += ["--ssh-config", str(place.ssh_config.resolve())]
    with place.paths.log.open("ab") as log:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "cockpit", *options, "daemon"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return _who_runs(place, daemon)


def _who_runs(place: Place, daemon: subprocess.Popen[bytes]) -> str:
    """Another window may have been quicker than the daemon, which then ends by itself."""
    until = time.monotonic() + TAKEOVER_S
    while (pid := holder(place.paths.lock)) is None and time.monotonic() < until:
        time.sleep(0.05)
    if pid is None:
        return f"no engine took over; see {place.paths.log}, and start `cockpit daemon`"
    if pid == daemon.pid:
        return f"the engine goes on as pid {pid}; `kill {pid}` ends it, `cockpit` shows it"
    return f"another cockpit, pid {pid}, runs the engine now"


async def _serve(place: Place, model: LiveModel, lock: EngineLock) -> None:
    """A view of another's engine while there is one, then the engine; its failure is shown.

    It has a store of its own: SQLite tells a connection only what others wrote.
    """
    await asyncio.sleep(0)
    store = place.store()
    try:
        while not lock.acquire():
            nodes = await asyncio.to_thread(open_nodes, place)
            viewer = Viewer(place.cluster(), store, nodes, place.paths)
            engine_is = f"engine: pid {holder(place.paths.lock)}"
            model.connect(viewer, nodes, engine_is, runs_engine=False)
            await viewer.run()
        nodes = await asyncio.to_thread(open_nodes, place)
        engine = Engine(place.cluster(), store, nodes, place.paths)
        model.connect(engine, nodes, "engine: here", runs_engine=True)
        await engine.run()
    except Exception as error:  # noqa: BLE001 - shown on every screen and kept in the log
        _log.exception("the engine stopped")
        model.failure = f"the engine stopped ({error!r}); see {place.paths.log}, start it again"
    finally:
        lock.release()
        store.close()


async def run_daemon(place: Place, store: Store, lock: EngineLock) -> None:
    """The engine without a screen, until cancelled; the caller holds the lock."""
    try:
        engine = Engine(place.cluster(), store, open_nodes(place), place.paths)
        await engine.run()
    finally:
        store.close()
        lock.release()
