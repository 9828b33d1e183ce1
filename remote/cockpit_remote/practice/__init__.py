"""A practice cluster: real SSH servers on loopback, without root, that leave nothing behind."""

from __future__ import annotations

from cockpit_remote.practice.cluster import Practice, PracticeError, list_left, sweep

__all__ = ["Practice", "PracticeError", "list_left", "sweep"]
