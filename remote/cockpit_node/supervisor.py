"""One attempt's life on a node: leased, told to go, watched, ended, and proven to be gone."""

from __future__ import annotations

import os
import time

from cockpit_node import ending, leases
from cockpit_node.archive import trainer_path
from cockpit_node.children import Children
from cockpit_node.claim import only_one, remove
from cockpit_node.ending import Ending
from cockpit_node.environment import GRACE_STRETCH, job_argv, job_environment, setup_lines
from cockpit_node.growth import watched
from cockpit_node.heart import Heart
from cockpit_node.identity import boot_id
from cockpit_node.journal import Journal, read_known
from cockpit_node.kill import kill
from cockpit_node.launcher import UNSEEN, Adopted, Ended, Launcher, Started, ask_to_end
from cockpit_node.members import Members
from cockpit_node.orders import Orders, Stop
from cockpit_node.outputs import Outputs
from cockpit_node.paths import RunPaths
from cockpit_node.plain import write_plain
from cockpit_node.port import HeldPort, hold
from cockpit_node.processes import Identity, process
from cockpit_node.records import Record, text
from cockpit_node.refused import Refused
from cockpit_node.spec import Spec
from cockpit_node.states import launcher_of
from cockpit_node.teardown import Teardown
from cockpit_node.unessential import unessential

TEARDOWN_S = 1.0
"""What a rank gets whose peer is dead: it cannot save any more."""
LAST_WORDS_S = 5.0
"""What torchrun gets to say which rank failed, once its ranks are gone."""
_ABORTED = "aborted before it started"


class Supervisor:
    """Does what the orders in the run directory say, and writes down what came of it."""

    def __init__(self, paths: RunPaths, spec: Spec, umask: int) -> None:
        self._paths = paths
        self._spec = spec
        self._umask = umask
        """The user's own, for what the job makes."""
        self._outputs = Outputs.of(spec, paths)
        self._children = Children()
        self._journal = Journal(paths)
        self._orders = Orders(paths)
        self._heart = Heart(spec, self._outputs, self._children, self._journal)
        self._port: HeldPort | None = None
        self._started: float | None = None
        self._has_ended = False
        self._memory_kills = ending.memory_kills()

    def run(self) -> None:
        """From the leases to the exit record."""
        own = process(os.getpid())
        since = own.start if own else 0
        self._heart.members = Members(self._spec.marker, ancestor=os.getpid(), since=since)
        try:
            self._prepare()
        except Refused as refusal:
            self._heart.leases.release()
            self._journal.refused(refusal)
            return
        self._await_go_and_start()
        self._close()

    def adopt(self, before: Record) -> None:
        """Go on with a run whose supervisor died, by what that wrote down."""
        self._journal.resume(before)
        launcher, known = None, []
        if before.get("boot_id") == boot_id():
            launcher = launcher_of(before)
            known = read_known(self._paths) + ([launcher] if launcher else [])
        self._heart.members = Members(self._spec.marker, ancestor=os.getpid(), known=known)
        # Someone may have taken the units meanwhile; all the more must this run be watched.
        with unessential("the units could not be leased again"):
            self._heart.leases = leases.take(self._holders())
        self._journal.state(text(before, "state") or "started")
        self._heart.started()
        self._see_through(Adopted(launcher or self._oldest()))
        self._close()

    def _oldest(self) -> Identity | None:
        """The launcher, where nothing tells any more which process it was: it leads a session."""
        leaders = [row for row in self._heart.members.scan() if row.pid == row.session]
        return min(leaders, key=lambda row: row.start).identity if leaders else None

    def _prepare(self) -> None:
        self._heart.leases = leases.take(self._holders())
        try:
            self._journal.open()
            os.makedirs(self._paths.log, mode=0o700, exist_ok=True)
            if self._spec.has_setup:
                write_plain(self._paths.setup, setup_lines(self._spec))
        except OSError as error:
            message = (
                f"{self._paths.directory} cannot be written: {error.strerror}; free some space"
            )
            raise Refused("Disk", message, retry=True) from error
        self._port = hold() if self._spec.holds_port else None
        self._journal.state("prepared", port=self._port.number if self._port else None)

    def _holders(self) -> list[leases.Holder]:
        spec, since = self._spec, time.time()
        return [
            leases.Holder(unit, spec.user, spec.name, spec.run, spec.attempt, spec.node, since)
            for unit in spec.units
        ]

    def _await_go_and_start(self) -> None:
        give_up = time.monotonic() + self._spec.confirm_s
        while not self._orders.told_to_go:
            gone = not os.path.lexists(self._paths.spec)
            if gone or self._orders.aborted or self._children.told_to_end:
                return self._record_end(Ending(UNSEEN, _ABORTED, stopped=True))
            if self._orders.told_to_stop:
                reason = _stopped(self._orders.stop(0).reason)
                return self._record_end(Ending(UNSEEN, reason, stopped=True))
            if time.monotonic() >= give_up and self._expire():
                return None
            self._heart.pulse()
        launcher = self._start()
        if launcher is not None:
            self._see_through(launcher)
        return None

    def _expire(self) -> bool:
        """Undo everything, unless the order to go has come at this very moment."""
        with only_one(self._paths):
            if self._orders.told_to_go or self._orders.aborted:
                return False
            self._heart.leases.release()
            waited = f"it was not told to go within {self._spec.confirm_s:g} s"
            self._journal.refused(Refused("Expired", f"{waited}; prepare it again", retry=True))
            remove(self._paths)
        return True

    def _start(self) -> Launcher | None:
        port = self._orders.port()
        if self._port is not None:
            port = port or self._port.number
            self._port.release()
        self._started = time.time()
        try:
            launcher = self._launch(port)
        except OSError as error:
            message = f"{self._spec.argv[0]} could not be started: {error.strerror}"
            self._record_end(Ending(Ended(127, None), message))
            return None
        self._journal.state("started", launcher=launcher.identity._asdict(), port=port)
        self._heart.started()
        return launcher

    def _launch(self, port: int | None) -> Started:
        if self._spec.checkpoint_dir is None:
            os.makedirs(self._paths.checkpoints, mode=0o700, exist_ok=True)
        self._heart.trainer = trainer_path(self._paths.root)
        return Started(
            job_argv(self._spec, self._paths, port),
            job_environment(os.environb, self._spec, self._paths, self._heart.trainer),
            self._spec.workdir,
            self._outputs,
            self._children,
            self._umask,
        )

    def _see_through(self, launcher: Launcher) -> None:
        """Watch it, end it when it must end, and prove that it has."""
        stopped = self._watch(launcher)
        if stopped is None:
            self._let_go(TEARDOWN_S)
        left = kill(self._heart.members, self._heart.breathe)
        end = self._ending(launcher.ended() or UNSEEN, stopped)
        self._record_end(end, len(left))
        while left:
            # Its units stay leased: who cannot be killed may still use them.
            self._children.wait(1.0)
            left = kill(self._heart.members, self._heart.breathe)
            if not left:
                self._record_end(end)

    def _watch(self, launcher: Launcher) -> str | None:
        """Until it has ended or must be killed; why, if someone ended it."""
        confirm_by: float | None = time.monotonic() + self._spec.confirm_s
        teardown = Teardown(self._outputs.stdout) if self._spec.is_torchrun else None
        while True:
            stop = self._why_stop()
            if stop is not None:
                return self._stop(launcher, stop)
            if launcher.ended() is not None:
                return None
            if teardown is not None and teardown.begun(self._heart.members):
                self._tear_down(launcher)
                return None
            if confirm_by is not None and self._orders.confirmed:
                confirm_by = None
                self._journal.state("confirmed")
            if confirm_by is not None and time.monotonic() >= confirm_by:
                waited = f"not every node had started within {self._spec.confirm_s:g} s"
                return self._stop(launcher, Stop(TEARDOWN_S, waited))
            self._heart.pulse()

    def _why_stop(self) -> Stop | None:
        if self._orders.aborted:
            return Stop(0, "aborted")
        if self._orders.told_to_stop:
            return self._orders.stop(self._spec.grace_s)
        if self._children.told_to_end:
            return Stop(self._spec.grace_s, "the node told its supervisor to end")
        if not os.path.lexists(self._paths.spec):
            return Stop(self._spec.grace_s, "its run directory was removed")
        return None

    def _stop(self, launcher: Launcher, order: Stop) -> str:
        """Ask it to end, and give it the time to save."""
        if order.grace_s > 0:
            ask_to_end(launcher)
        self._journal.state("stopping")
        if order.grace_s > 0:
            self._await_end(launcher, order.grace_s)
        return _stopped(order.reason)

    def _await_end(self, launcher: Launcher, grace_s: float) -> None:
        """Until its grace is over, and longer while it saves."""
        began = time.monotonic()
        with watched(self._spec.checkpoints(self._paths)) as growth:
            while launcher.ended() is None and not self._orders.aborted:
                if self._orders.told_to_stop:
                    # Whoever asks again may be in more of a hurry, never in less.
                    grace_s = min(grace_s, self._orders.stop(grace_s).grace_s)
                now = time.monotonic()
                saving = growth.recent(now) and now - began < grace_s * GRACE_STRETCH
                if now - began >= grace_s and not saving:
                    return
                self._heart.pulse()

    def _tear_down(self, launcher: Launcher) -> None:
        """A rank failed: its peers cannot save, and torchrun would wait for them."""
        self._let_go(TEARDOWN_S, launcher)
        spare = {launcher.identity.pid} if launcher.identity else set()
        kill(self._heart.members, self._heart.breathe, frozenset(spare))
        until = time.monotonic() + LAST_WORDS_S
        while launcher.ended() is None and time.monotonic() < until:
            self._heart.pulse()

    def _let_go(self, seconds: float, launcher: Launcher | None = None) -> None:
        """Give what is left so long to end by itself."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._heart.members.scan():
            if launcher is not None and launcher.ended() is not None:
                return
            self._heart.pulse()

    def _ending(self, ended: Ended, stopped: str | None) -> Ending:
        if stopped is not None:
            return Ending(ended, stopped, stopped=True)
        failure = None
        with unessential("why it failed could not be found out"):
            failure = ending.find_failure(self._spec, ended, self._outputs)
            failure = ending.with_memory_hint(failure, self._memory_kills, ending.memory_kills())
        return Ending(ended, failure=failure)

    def _record_end(self, end: Ending, left: int = 0) -> None:
        self._journal.exit(end.record(self._started, left))
        self._has_ended = True

    def _close(self) -> None:
        """Free the units, and only then say that the run has ended: the next may start at once."""
        self._heart.leases.release()
        if self._has_ended:
            self._journal.state("ended")


def _stopped(reason: str) -> str:
    return f"stopped: {reason}" if reason else "stopped"
