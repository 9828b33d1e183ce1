"""The logs of an attempt on this machine: one process appends to them, any number read them."""

from cockpit.engine.spool.journal import ForeignSpool
from cockpit.engine.spool.reader import Line, SpoolReader
from cockpit.engine.spool.streams import Entry
from cockpit.engine.spool.writer import AttemptSpool, SpoolGap

__all__ = ["AttemptSpool", "Entry", "ForeignSpool", "Line", "SpoolGap", "SpoolReader"]
