"""The node's end of a link: frames in, frames out, nothing kept and nothing left behind."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from cockpit_node import threads
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
    threads.start("writer", outbox.run)
    try:
        _read(outbox)
    except (WireError, BadOrder, BadPath, OSError) as error:
        sys.stderr.write(f"{error}\n")
    threads.leave()


def _read(outbox: Outbox) -> None:
    decoder = Decoder(keep_surrogates=True)
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
