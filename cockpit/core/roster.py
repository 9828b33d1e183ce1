"""Every job by number, oldest first, with those that matter now at hand; cheap to replace by its successor."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from operator import lt
from typing import Generic, TypeVar

from cockpit.core.jobs import Job, JobState

_PAGE_BITS = 7
"""2**7 numbers a page: a change copies one page and the list of pages, never all jobs."""
_RUN_PAGES = 256

_Pages = Mapping[int, Mapping[int, Job]]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Roster(Mapping[int, Job]):
    """Never changed in place. What is over costs nothing but the memory it takes."""

    _pages: _Pages = field(default_factory=dict)
    _count: int = 0
    _runs: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Run -> number, by pages of equal hash."""
    holding: tuple[int, ...] = ()
    """Numbers of the jobs that hold units."""
    waiting: tuple[int, ...] = ()
    """Numbers of the pending jobs that may start; another tuple whenever what one of them asks changed."""
    looking: tuple[int, ...] = ()
    """Numbers of the pending jobs whose checkpoint is still being looked up."""

    @classmethod
    def of(cls, jobs: Mapping[int, Job]) -> Roster:
        return jobs if isinstance(jobs, Roster) else cls().with_jobs(*jobs.values())

    def __getitem__(self, number: int) -> Job:
        return self._pages[number >> _PAGE_BITS][number]

    def __iter__(self) -> Iterator[int]:
        for page in self._pages.values():
            yield from page

    def __len__(self) -> int:
        return self._count

    def values(self) -> ValuesView[Job]:
        return _Values(self)

    def items(self) -> ItemsView[int, Job]:
        return _Items(self)

    def pages(self) -> Iterator[Mapping[int, Job]]:
        """All of it in pieces, oldest first."""
        yield from self._pages.values()

    def holders(self) -> Iterator[Job]:
        return map(self.__getitem__, self.holding)

    def lookers(self) -> Iterator[Job]:
        return map(self.__getitem__, self.looking)

    def of_run(self, run: str) -> Job | None:
        number = self._runs.get(hash(run) % _RUN_PAGES, {}).get(run)
        return None if number is None else self[number]

    def changed_since(self, before: Roster) -> Iterator[Job]:
        """What is new or another job than in `before`."""
        for key, page in self._pages.items():
            old = before._pages.get(key, {})
            if old is not page:
                yield from (job for number, job in page.items() if old.get(number) is not job)

    def with_job(self, job: Job) -> Roster:
        return self.with_jobs(job)

    def with_jobs(self, *jobs: Job) -> Roster:
        """Each page is copied once, however many of its jobs change."""
        if not jobs:
            return self
        pages, runs = _Copies(self._pages), _Copies(self._runs)
        count, holding, waiting, looking = self._count, self.holding, self.waiting, self.looking
        for job in jobs:
            page = pages.of(job.id >> _PAGE_BITS)
            before = page.get(job.id)
            page[job.id] = job
            if before is None or before.run != job.run:
                count += before is None
                runs.of(hash(job.run) % _RUN_PAGES)[job.run] = job.id
            holding = _placed(holding, before, job, _holds)
            waiting = _renewed(_placed(waiting, before, job, _waits), before, job)
            looking = _placed(looking, before, job, _looks)
        pages.all.update((key, _sorted(page)) for key, page in pages.copied.items())
        return Roster(_sorted(pages.all), count, runs.all, holding, waiting, looking)


class _Copies(Generic[_K, _V]):
    """Pages, of which those that change are copied first."""

    def __init__(self, pages: Mapping[int, Mapping[_K, _V]]) -> None:
        self.all: dict[int, Mapping[_K, _V]] = dict(pages)
        self._mine: dict[int, dict[_K, _V]] = {}

    def of(self, key: int) -> dict[_K, _V]:
        """A page to write on."""
        if key not in self._mine:
            self.all[key] = self._mine[key] = dict(self.all.get(key, {}))
        return self._mine[key]

    @property
    def copied(self) -> Mapping[int, Mapping[_K, _V]]:
        return self._mine


class _Values(ValuesView[Job]):
    """Jobs without a look-up each."""

    def __init__(self, roster: Roster) -> None:
        super().__init__(roster)
        self._roster = roster

    def __iter__(self) -> Iterator[Job]:
        for page in self._roster.pages():
            yield from page.values()


class _Items(ItemsView[int, Job]):
    """Numbers and jobs without a look-up each."""

    def __init__(self, roster: Roster) -> None:
        super().__init__(roster)
        self._roster = roster

    def __iter__(self) -> Iterator[tuple[int, Job]]:
        for page in self._roster.pages():
            yield from page.items()


def _sorted(found: Mapping[int, _V]) -> Mapping[int, _V]:
    numbers = list(found)
    in_order = all(map(lt, numbers, numbers[1:]))
    return found if in_order else dict(sorted(found.items()))


def _holds(job: Job) -> bool:
    return job.state.holds_units


def _waits(job: Job) -> bool:
    return job.state is JobState.PENDING and job.wanted is None


def _looks(job: Job) -> bool:
    return job.state is JobState.PENDING and job.wanted is not None


def _placed(
    numbers: tuple[int, ...], before: Job | None, job: Job, belongs: Callable[[Job], bool]
) -> tuple[int, ...]:
    """With or without the job's number, as it belongs there; the same tuple if nothing changes."""
    was, is_now = before is not None and belongs(before), belongs(job)
    if was == is_now:
        return numbers
    at = bisect_left(numbers, job.id)
    return numbers[:at] + ((job.id,) if is_now else ()) + numbers[at + was :]


def _renewed(numbers: tuple[int, ...], before: Job | None, job: Job) -> tuple[int, ...]:
    """Another tuple where a job that goes on waiting asks for something else."""
    if before is None or not (_waits(before) and _waits(job)) or _asks(before) == _asks(job):
        return numbers
    return (*numbers,)


def _asks(job: Job) -> tuple[object, ...]:
    return job.retry_at, job.resume, job.home, job.nodes
