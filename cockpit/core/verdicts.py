"""What an attempt's exits say: who failed first, in words and as a code."""

from __future__ import annotations

from cockpit.core.figures import counted
from cockpit.core.jobs import Failure, Job, Part

_SIGNALS = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGSEGV": 11,
    "SIGUSR2": 12,
    "SIGPIPE": 13,
    "SIGALRM": 14,
    "SIGTERM": 15,
}
"""Linux numbers by name (signal(7)); the core may not import `signal`, whose table is this machine's."""
_CONSEQUENCES = frozenset({"SIGTERM", "SIGABRT"})
"""Signals that a dying gang gives to the survivors: torchrun's own, and NCCL's watchdog."""


def first_failure(job: Job) -> Part | None:
    """The part that most likely failed first, None if all succeeded.

    A signal from outside outranks an exit code, since the peers of a killed rank fail with one;
    a part that was only told to stop comes last.
    """
    failed = [part for part in job.parts if part.exit is not None and not part.exit.is_success]
    return min(failed, key=_rank_of_cause, default=None)


def _rank_of_cause(part: Part) -> tuple[int, int]:
    how = part.exit
    assert how is not None
    if how.lost:
        return 0, part.node_rank
    signal = how.failure.signal if how.failure else how.signal
    if signal and signal not in _CONSEQUENCES and not how.stopped:
        return 1, part.node_rank
    return (2 if not how.stopped else 3), part.node_rank


def code_of(part: Part) -> int:
    """128+n for a signal, else the failing rank's code, else the launcher's, else 1."""
    how = part.exit
    assert how is not None
    failure = how.failure or Failure(None, how.code, how.signal)
    if failure.signal in _SIGNALS:
        return 128 + _SIGNALS[failure.signal]
    return failure.code or how.code or 1


_HINTS = (
    (
        "environment variable RANK expected",
        "it wants torchrun: submit it as `-- torchrun train.py`, since one process runs as typed",
    ),
    ("No module named 'torch'", "its Python has no torch: name another with --venv or --python"),
)
"""(what a script's last words hold, what to do)."""


def words_of(job: Job, part: Part) -> str:
    """One sentence that names the node, the rank and what ended it."""
    how = part.exit
    assert how is not None
    if how.lost:
        return f"{part.node}: {how.reason or 'lost'}"
    failure = how.failure or Failure(None, how.code, how.signal)
    who = part.node if failure.rank is None else f"rank {failure.rank} on {part.node}"
    told = failure.message.removeprefix(f"rank {failure.rank} ") or _ending(failure)
    why = f": {how.reason}" if how.stopped and how.reason else ""
    processes = counted(how.leftovers, "process", "processes")
    left = f"; {processes} could not be ended" if how.leftovers else ""
    hint = next((f"; {cure}" for sign, cure in _HINTS if sign in told), "")
    return f"{who} {told}{why}{left}{hint}"


def _ending(failure: Failure) -> str:
    if failure.signal:
        return f"was ended by {failure.signal}"
    if failure.code is None:
        return "ended, nobody knows how"
    return f"exited with code {failure.code}"
