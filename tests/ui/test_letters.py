"""The letter of a job: its own while it lives, the same in every window."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.jobs import Job, JobState
from cockpit.ui.letters import letters
from tests.ui.lab import job


def queue(count: int) -> dict[int, Job]:
    return {number: job(number, submitted=float(number)) for number in range(1, count + 1)}


def test_jobs_are_lettered_in_the_order_of_their_numbers() -> None:
    assert list(letters(queue(4)).values()) == ["A", "B", "C", "D"]


def test_a_living_job_keeps_its_letter_when_the_alphabet_comes_round() -> None:
    jobs = queue(30)
    for number in range(2, 31):
        jobs[number] = replace(jobs[number], state=JobState.COMPLETED, ended=number + 0.5)
    named = letters(jobs)
    assert named[1] == "A"
    assert named[27] == "B"
    assert named[28] == "B"


def test_fifty_two_living_jobs_have_fifty_two_letters_and_the_next_one_none() -> None:
    named = letters(queue(53))
    assert len({named[number] for number in range(1, 53)}) == 52
    assert named[53] == "?"


def test_a_new_job_changes_no_letter() -> None:
    jobs = queue(40)
    assert {**letters(jobs), 41: "?"} == {**letters({**jobs, **queue(41)}), 41: "?"}
