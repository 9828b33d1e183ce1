"""Closing the screen: what goes on without it, or ends with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cockpit.core.jobs import Job, JobState
from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.dialogs.ask import Ask
from cockpit.ui.hostlist import folded


class Leave(Ask):
    """Asked only where there are lines to show."""

    BINDINGS = bindings(Context.LEAVE)

    def __init__(
        self,
        jobs: Mapping[int, Job],
        ending: str = "",
        leave_daemon: Callable[[], None] | None = None,
    ) -> None:
        """`ending` says what quitting ends, where the jobs end with it.

        `leave_daemon` leaves an engine behind for the jobs that wait; None where one runs anyway.
        """
        waits = any(job.state is JobState.PENDING for job in jobs.values())
        self._leave_daemon = leave_daemon if waits and not ending else None
        living = [job for job in jobs.values() if not job.state.is_over]
        self.lines = _ending(living, ending) if ending else _going_on(living)
        title = "Quit? The jobs end with it." if ending else "Quit? The jobs go on."
        facts = [("", line) for line in self.lines]
        super().__init__(title, facts, "quit", "stay", danger=bool(ending))

    def keys(self) -> str:
        daemon = "   d quit, and leave an engine behind for them" if self._leave_daemon else ""
        return f"{super().keys()}{daemon}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`d` means something only where an engine can be left."""
        if action == "daemon":
            return self._leave_daemon is not None
        return super().check_action(action, parameters)

    def action_daemon(self) -> None:
        self.answer(self._leave_engine)

    def _leave_engine(self) -> None:
        assert self._leave_daemon is not None
        self._leave_daemon()
        self.lines.pop()  # The last one: that nothing starts without an engine.
        self.dismiss(True)

    @property
    def farewell(self) -> str:
        """What to print when the screen is gone; safe to print."""
        return "\n".join(map(visible, self.lines))


def _ending(living: list[Job], ending: str) -> list[str]:
    return [*ending.splitlines(), *(f"job {job.id} {job.name} ends" for job in living)]


def _going_on(living: list[Job]) -> list[str]:
    waiting = sum(job.state is JobState.PENDING for job in living)
    lines = [
        f"job {job.id} {job.name} {_standing(job)} on {folded(job.nodes)}"
        for job in living
        if job.state is not JobState.PENDING
    ]
    if waiting:
        jobs = "1 waiting job starts" if waiting == 1 else f"{waiting} waiting jobs start"
        lines.append(f"{jobs} only while an engine runs; `cockpit daemon` is one without a screen")
    return lines


def _standing(job: Job) -> str:
    return "is being stopped" if job.state is JobState.COMPLETING else "goes on,"
