"""The last word about a run on this node: how it ended, why, and that nothing is left."""

from __future__ import annotations

import time
from typing import NamedTuple

from cockpit_node import torchrun
from cockpit_node.launcher import Ended
from cockpit_node.outputs import Outputs
from cockpit_node.records import Record
from cockpit_node.spec import Spec
from cockpit_node.torchrun import Failure


class Ending(NamedTuple):
    """How a run ended, before it is known whether anything of it is left."""

    ended: Ended
    reason: str | None = None
    """Why, where this is not for the launcher to say."""
    stopped: bool = False
    """Whether someone ended it."""
    failure: Failure | None = None

    def record(self, started: float | None, left: int) -> Record:
        """What exit.json holds. Times are the node's own, for people."""
        return {
            "code": self.ended.code,
            "signal": self.ended.signal,
            "stopped": self.stopped,
            "reason": self.reason or (self.failure.message if self.failure else _how(self.ended)),
            "first_failure": self.failure._asdict() if self.failure else None,
            "leftovers": left,
            "started": started,
            "ended": time.time(),
        }


def find_failure(spec: Spec, ended: Ended, outputs: Outputs) -> Failure | None:
    """Which rank failed first, and how; None if none did."""
    if ended.code == 0:
        return None
    if spec.is_torchrun:
        files = torchrun.rank_files(spec, outputs.logs)
        return torchrun.first_failure(spec, outputs.stdout, files) or _of_launcher(ended, outputs)
    if ended.code is None:
        return None
    words = "" if ended.signal else torchrun.last_line(outputs.stderr)
    how = _how(ended)
    return Failure(0, ended.code, ended.signal, f"{how}: {words}" if words else how)


def with_memory_hint(failure: Failure | None, kills_before: int, kills_now: int) -> Failure | None:
    """A SIGKILL that nobody here sent while the kernel was killing for memory."""
    if failure is None or failure.signal != "SIGKILL" or kills_now <= kills_before:
        return failure
    hint = f"{failure.message}, likely out of memory: the node killed {kills_now - kills_before}"
    return failure._replace(message=f"{hint} processes for memory meanwhile")


def memory_kills() -> int:
    """How many processes this node has killed for memory since it started."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            counts = dict(line.split() for line in file)
    except OSError:
        return 0
    return int(counts.get("oom_kill", 0))


def _of_launcher(ended: Ended, outputs: Outputs) -> Failure | None:
    if ended.code is None:
        return None
    if ended.signal is not None:
        return Failure(None, ended.code, ended.signal, f"torchrun was ended by {ended.signal}")
    message = f"torchrun failed with exit code {ended.code}"
    words = torchrun.last_line(outputs.stdout)
    return Failure(None, ended.code, None, f"{message}: {words}" if words else message)


def _how(ended: Ended) -> str:
    if ended.code is None:
        return "it ended while no supervisor saw how"
    if ended.signal is not None:
        return f"ended by {ended.signal}"
    return f"ended with exit code {ended.code}" if ended.code else "completed"
