"""The node's end of a link: frames in, frames out, nothing kept and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import Callable, NoReturn

from cockpit_node.body import BadOrder
from cockpit_node.desk import Desk
from cockpit_node.outbox import Outbox
from cockpit_node.paths import BadPath
from cockpit_node.wire import Chunk, Decoder, WireError

READ_BYTES = 256 * 1024


def main() -> NoReturn:
    """Serve the link on stdin and stdout until it ends."""
    link = os.dup(1)
    # Whatever prints now cannot get between frames; the operator keeps it for diagnosis.
    os.dup2(2, 1)
    outbox = Outbox(lambda data: _write(link, data))
    threading.Thread(target=_until_gone, args=(outbox.run,), name="writer", daemon=True).start()
    try:
        _read(outbox)
    except (WireError, BadOrder, BadPath, OSError) as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
    _leave()


def _read(outbox: Outbox) -> None:
    decoder = Decoder()
    desk: Desk | None = None
    while True:
        data = os.read(0, READ_BYTES)
        if not data:
            return
        for frame in decoder.feed(data):
            if isinstance(frame, Chunk):
                raise WireError("a log chunk came from the operator")
            if desk is None:
                desk = Desk.open(frame, outbox)
            else:
                desk.take(frame)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _until_gone(run: Callable[[], None]) -> None:
    try:
        run()
    except OSError:
        _leave()


def _leave() -> NoReturn:
    """End this process and the probes it started; supervisors are nobody's children."""
    for pid in _children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _children() -> list[int]:
    mine = str(os.getpid())
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _parent(pid) == mine]


def _parent(pid: str) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may hold spaces and brackets; the fields after the last one do not.
            return file.read().rpartition(b")")[2].split()[1].decode()
    except OSError:
        return None
