"""The letter and the colour by which a job is known on every screen."""

from __future__ import annotations

import string
from collections.abc import Mapping

from cockpit.core.jobs import Job

ALPHABET = string.ascii_uppercase + string.ascii_lowercase
COLOURS = 8
"""Theme variables `$job-1` ... `$job-8`."""


def letters(jobs: Mapping[int, Job]) -> dict[int, str]:
    """Job id -> letter. No two jobs that lived at one time share one, up to 52 at a time.

    Depends on the jobs before it alone, so that it never changes while a job lives, and is the
    same in every window.
    """
    given: dict[int, str] = {}
    free_from = dict.fromkeys(ALPHABET, float("-inf"))
    for job in jobs.values():
        start = (job.id - 1) % 26
        order = ALPHABET[start:26] + ALPHABET[:start] + ALPHABET[26:]
        letter = next((one for one in order if free_from[one] <= job.submitted), "?")
        given[job.id] = letter
        if letter in free_from:
            free_from[letter] = float("inf") if job.ended is None else job.ended
    return given


def colour(letter: str) -> str:
    """The theme variable for a job's letter, without the `$`."""
    return f"job-{ALPHABET.find(letter) % COLOURS + 1}"
