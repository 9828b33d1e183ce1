"""Names that tell which process made a lab, so that what a dead one left can be found."""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.processes import start_ticks

_SERIALS = itertools.count()
_NAME = re.compile(r"cockpit-lab-(?P<pid>\d+)-(?P<start>\d+)-(?P<serial>\d+)")


def new_name() -> str:
    """A name no other lab has: this process's pid, its start time, and a serial number."""
    pid = os.getpid()
    return f"cockpit-lab-{pid}-{start_ticks(pid)}-{next(_SERIALS)}"


def lab_of(name: str) -> str | None:
    """The lab that a network namespace, an interface alias, a directory or a cgroup belongs to."""
    found = _NAME.match(name)
    return found.group() if found else None


def is_alive(lab: str) -> bool:
    """Whether the process that made this lab still runs."""
    found = _NAME.fullmatch(lab)
    return found is not None and start_ticks(int(found["pid"])) == int(found["start"])


def interface_name(lab: str) -> str:
    """The lab's one interface on this machine, in the 15 characters that Linux allows."""
    found = _NAME.fullmatch(lab)
    assert found is not None, lab
    return f"lab{int(found['pid']):x}s{int(found['serial']):x}"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Keeps other test runs on this machine from choosing a subnet or sweeping meanwhile."""
    with (Path(tempfile.gettempdir()) / "cockpit-lab.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
