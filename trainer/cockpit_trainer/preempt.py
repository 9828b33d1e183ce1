"""Signals that ask a run to save or to stop, agreed on by all ranks at the same step.

SIGUSR1 asks for a checkpoint at the next step. SIGTERM asks for a checkpoint at the next step and
then for the end; a run that stops so exits with 143, as a shell reports it, so that nobody takes it
for finished. A handler only notes the wish, so a second SIGTERM cannot hurt the saving. Each is
caught only once somebody will act on it: before that, a signal does what it does to any process,
and whoever looks whether a rank catches it is not misled.

The agreement is made while all ranks still step: a rank whose peer is gone cannot save.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cockpit_trainer.distributed import Peers

STOPPED_EXIT_CODE = 128 + signal.SIGTERM


class Wishes:
    """What signals asked this rank for, and what all ranks agreed to do about it."""

    def __init__(self) -> None:
        self._save = False
        self._stop = False
        self._catches_save = False
        self._catches_stop = False
        self._agreed_stop: bool | None = None
        """The answer of the last `agree_to_save` about stopping, until it is read."""

    def catch_save(self) -> None:
        """Take SIGUSR1 over; the first call does it."""
        if not self._catches_save:
            signal.signal(signal.SIGUSR1, self._on_save)
            self._catches_save = True

    def catch_stop(self) -> None:
        """Take SIGTERM over; the first call does it."""
        if not self._catches_stop:
            signal.signal(signal.SIGTERM, self._on_stop)
            self._catches_stop = True

    def agree_to_save(self, peers: Peers) -> bool:
        """Whether any rank was asked to save or to stop. Every rank asks at the same step."""
        save, self._agreed_stop = peers.any(self._save, self._stop)
        if save:
            self._save = False
        return save or self._agreed_stop

    def agree_to_stop(self, peers: Peers) -> bool:
        """Whether any rank was asked to stop; right after `agree_to_save` it costs no exchange.

        It answers what that call answered, so that a run never stops between the two unsaved.
        """
        if self._agreed_stop is None:
            (self._agreed_stop,) = peers.any(self._stop)
        stop, self._agreed_stop = self._agreed_stop, None
        return stop

    def saved(self) -> None:
        """A checkpoint became complete: whoever asked for one until now has it.

        One signal to many ranks arrives at different steps, and must not cause two checkpoints.
        """
        self._save = False

    def _on_save(self, signum: int, frame: FrameType | None) -> None:
        self._save = True

    def _on_stop(self, signum: int, frame: FrameType | None) -> None:
        self._stop = True
