"""Orders that an agent leaves in a run directory and the supervisor obeys."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from cockpit_node import records
from cockpit_node.paths import RunPaths
from cockpit_node.plain import open_to_write
from cockpit_node.records import Record

STOP_REASON_LIMIT = 300
"""Characters."""


class Stop(NamedTuple):
    """An order to end a run, with time to save first."""

    grace_s: float
    reason: str


class Orders:
    """What was asked so far; reading changes nothing."""

    def __init__(self, paths: RunPaths) -> None:
        self._paths = paths

    @property
    def told_to_go(self) -> bool:
        return os.path.exists(self._paths.go)

    @property
    def confirmed(self) -> bool:
        return os.path.exists(self._paths.confirm)

    @property
    def aborted(self) -> bool:
        return os.path.exists(self._paths.abort)

    @property
    def told_to_stop(self) -> bool:
        return os.path.exists(self._paths.stop)

    def port(self) -> int | None:
        """The port that go named."""
        port = records.whole(records.read_if_whole(self._paths.go), "port")
        return port if port is not None and 0 < port < 65536 else None

    def stop(self, default_grace_s: float) -> Stop:
        """The order to stop. One that cannot be read is an order all the same."""
        record = records.read_if_whole(self._paths.stop)
        grace_s = records.number(record, "grace_s")
        reason = records.text(record, "reason", STOP_REASON_LIMIT)
        return Stop(default_grace_s if grace_s is None else max(0.0, grace_s), reason)


def give(path: str, order: Record) -> None:
    """Leave an order, even where a full disk has room for no more than its name."""
    try:
        records.replace(path, order)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        mark(path)


def mark(path: str) -> None:
    """Leave an order that its name says all of."""
    os.close(open_to_write(path))
