"""Which record holds the n-th line of the chosen streams, at the cost of a few bytes a record."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate

Record = tuple[int, int, int, int]
"""Stream number, lines, begin and end, as in the journal."""

BLOCK = 1024
"""Records that are counted together; finding a line looks into one block."""


class ArrivalIndex:
    """Counts lines per stream in each block of records, and keeps only the counts."""

    def __init__(self, load: Callable[[int], Iterable[Record]]) -> None:
        self._load = load
        """Reads the records of a full block again."""
        self._blocks: list[array[int]] = []
        """Lines by stream number, one array a full block."""
        self._before: list[int] = []
        """Chosen lines up to the end of each full block."""
        self._open: list[Record] = []
        """Records after the last full block."""
        self._chosen: frozenset[int] | None = None
        self.line_count = 0
        """Whole lines of the chosen streams."""
        self.ends: dict[int, int] = {}
        """By stream number, where its whole lines end, in bytes."""

    @property
    def record_count(self) -> int:
        return len(self._blocks) * BLOCK + len(self._open)

    def feed(self, records: Iterable[Record]) -> None:
        for record in records:
            number, lines, _begin, end = record
            self.ends[number] = end
            if self._chosen is None or number in self._chosen:
                self.line_count += lines
            self._open.append(record)
            if len(self._open) == BLOCK:
                self._seal()

    def choose(self, numbers: Collection[int] | None) -> None:
        """Count only the lines of these streams from now on; None is all."""
        self._chosen = None if numbers is None else frozenset(numbers)
        self._before = list(accumulate(self._chosen_in(counts) for counts in self._blocks))
        chosen_open = (lines for number, lines, _, _ in self._open if self._is_chosen(number))
        self.line_count = (self._before[-1] if self._before else 0) + sum(chosen_open)

    def records_from(self, line: int) -> Iterator[tuple[int, Record]]:
        """Chosen records from the one with this line on, each with the number of its first line."""
        block = bisect_right(self._before, line)
        while True:
            first = self._before[block - 1] if block else 0
            for record in self._records(block):
                number, lines, _begin, _end = record
                if not self._is_chosen(number):
                    continue
                if first + lines > line:
                    yield first, record
                first += lines
            if block == len(self._blocks):
                return
            block = bisect_right(self._before, first)

    def ordinal_of(self, line: int) -> int:
        """Which record, counted over all streams, holds a chosen line; the count of all if none."""
        block = bisect_right(self._before, line)
        first = self._before[block - 1] if block else 0
        for ordinal, (number, lines, _begin, _end) in enumerate(
            self._records(block), block * BLOCK
        ):
            first += lines if self._is_chosen(number) else 0
            if first > line:
                return ordinal
        return self.record_count

    def line_of(self, ordinal: int) -> int:
        """The first chosen line at or after a record."""
        block, rest = divmod(min(ordinal, self.record_count), BLOCK)
        first = self._before[block - 1] if block else 0
        records = list(self._records(block))[:rest]
        return first + sum(lines for number, lines, _, _ in records if self._is_chosen(number))

    def _records(self, block: int) -> Iterable[Record]:
        return self._open if block == len(self._blocks) else self._load(block)

    def _is_chosen(self, number: int) -> bool:
        return self._chosen is None or number in self._chosen

    def _chosen_in(self, counts: array[int]) -> int:
        if self._chosen is None:
            return sum(counts)
        return sum(counts[number] for number in self._chosen if number < len(counts))

    def _seal(self) -> None:
        counts = array("I", [0]) * (max(number for number, _, _, _ in self._open) + 1)
        for number, lines, _begin, _end in self._open:
            counts[number] += lines
        self._blocks.append(counts)
        self._before.append(self.line_count)
        self._open = []
