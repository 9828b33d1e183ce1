"""Threads of an agent: one that breaks ends the whole agent, loudly, and a new link starts anew."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from typing import Callable, NoReturn


def start(name: str, run: Callable[[], None]) -> None:
    """A thread that ends with the process, and whose failure ends the process."""

    def guarded() -> None:
        try:
            run()
        except BrokenPipeError:
            leave()
        # Whatever it is: without this thread the agent would be silent and look alive.
        except BaseException:  # noqa: BLE001
            traceback.print_exc(file=sys.stderr)
            leave()

    threading.Thread(target=guarded, name=name, daemon=True).start()


def leave() -> NoReturn:
    """End this process and the probes it started; supervisors are nobody's children."""
    for pid in _children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    sys.stderr.flush()
    os._exit(0)


def _children() -> list[int]:
    mine = str(os.getpid())
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _parent(pid) == mine]


def _parent(pid: str) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may hold spaces and brackets; the fields after the last one do not.
            return file.read().rpartition(b")")[2].split()[1].decode()
    except (FileNotFoundError, ProcessLookupError):
        return None
