"""The server process of a practice cluster; it ends when its standard input does."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from cockpit_remote.practice import remains, server
from cockpit_remote.practice.layout import PracticePaths, Shape


def main() -> int:
    paths, shape = _arguments()
    os.umask(0o077)
    try:
        asyncio.run(_serve(paths, shape))
    finally:
        ending = remains.end_all(paths.directory)
        if not ending.left:
            shutil.rmtree(paths.directory)
    _say(f"ended {len(ending.runs)}")
    return 1 if ending.left else 0


def _arguments() -> tuple[PracticePaths, Shape]:
    parser = argparse.ArgumentParser(prog="python -m cockpit_remote.practice", description=__doc__)
    parser.add_argument("directory", type=Path, help="a new or empty one; removed at the end")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--slots", type=int, default=2, help="of each node, with --gpus 0")
    parser.add_argument("--gpus", type=int, default=2, help="simulated ones of each node")
    options = parser.parse_args()
    paths = PracticePaths(options.directory.absolute())
    if not Path("/proc/self/environ").exists():
        parser.error("practice nodes need Linux: without /proc their jobs could not be ended")
    try:
        shape = Shape(options.nodes, options.slots, options.gpus)
        paths.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    # It is removed at the end, so nothing of anybody else may be in it.
    others = {entry.name for entry in paths.directory.iterdir()}
    if others - {paths.lock.name}:
        parser.error(f"{paths.directory} is not empty; name a new directory")
    paths.directory.chmod(0o700)
    return paths, shape


async def _serve(paths: PracticePaths, shape: Shape) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    servers = await server.listen(paths, shape)
    threading.Thread(target=_wait_for_end_of_input, args=(loop, stop), daemon=True).start()
    _say(f"ready {paths.directory}")
    await stop.wait()
    server.close(servers)


def _wait_for_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """The owner holds the other end, and it closes however the owner dies."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def _say(line: str) -> None:
    # An owner that was killed reads no more.
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), line.encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
