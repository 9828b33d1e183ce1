"""All jobs in pages: the same as a plain dictionary, and what matters now is always at hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cockpit.core.jobs import Job, JobState, Resume
from cockpit.core.roster import Roster
from tests.core.play import asked


def job(number: int, chance: random.Random) -> Job:
    state = chance.choice(list(JobState))
    wanted = chance.choice([None, None, Resume.NEWEST])
    return Job(number, asked(number), state, retry_at=chance.choice([0.0, 5.0]), wanted=wanted)


@pytest.mark.parametrize("seed", range(20))
def test_a_roster_is_what_a_dictionary_would_be_whatever_changes(seed: int) -> None:
    chance = random.Random(seed)
    plain: dict[int, Job] = {}
    roster = Roster()
    for _ in range(60):
        changed = [job(chance.randint(1, 700), chance) for _ in range(chance.randint(0, 30))]
        before, old = roster, dict(plain)
        roster = roster.with_jobs(*changed)
        plain.update({found.id: found for found in changed})
        fresh = {found.id for found in roster.changed_since(before)}
        assert fresh == {n for n, found in plain.items() if old.get(n) is not found}
        assert before == old, "the roster before was changed in place"
        expected = dict(sorted(plain.items()))
        assert list(roster) == list(expected)
        assert list(roster.values()) == list(expected.values())
        assert list(roster.items()) == list(expected.items())
        assert len(roster) == len(expected)
        pending = [found for found in expected.values() if found.state is JobState.PENDING]
        assert list(roster.holding) == [n for n in expected if expected[n].state.holds_units]
        assert list(roster.waiting) == [found.id for found in pending if found.wanted is None]
        assert list(roster.lookers()) == [found for found in pending if found.wanted is not None]
        assert all(roster.of_run(found.run) is found for found in expected.values())


def test_what_is_not_there_is_not_found() -> None:
    roster = Roster.of({1: Job(1, asked(1))})
    assert roster.of_run("STRANGER") is None
    assert 2 not in roster
    assert roster.get(400) is None
    assert roster.with_jobs() is roster


def test_the_line_is_another_one_once_a_waiting_job_asks_for_something_else() -> None:
    waiting = Job(1, asked(1))
    roster = Roster.of({1: waiting})
    assert roster.with_job(replace(waiting, reason="words")).waiting is roster.waiting
    assert roster.with_job(replace(waiting, retry_at=5.0)).waiting is not roster.waiting
    assert roster.with_job(replace(waiting, home="a")).waiting is not roster.waiting
