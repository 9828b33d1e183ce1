"""All that is known, in words; and the units and times those words use."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import GpuProcess
from cockpit.core.jobs import Exit, Failure, JobState
from cockpit.ui import describe, wording
from cockpit.ui.standing import is_stale, own_runs, places, standings
from tests.ui.lab import gpu, job, lab, node


def test_a_failed_job_says_which_rank_failed_first() -> None:
    found = lab()
    part = replace(
        found.jobs[1].parts[0], exit=Exit(1, failure=Failure(3, None, "SIGSEGV", "lost its GPU"))
    )
    failed = replace(found.jobs[1], state=JobState.FAILED, code=139, parts=(part,))
    facts = dict(describe.job(found, failed))
    assert "exit code 1, rank 3 failed first: lost its GPU" in facts["on gpu1"]


def test_secrets_in_the_environment_are_not_shown() -> None:
    secret = replace(job(1).request, env={"HF_TOKEN": "hf_abc", "SEED": "7"})
    facts = dict(describe.job(lab(), job(1, request=secret)))
    assert facts["env"] == "HF_TOKEN='***' SEED=7"


def test_a_gpu_says_who_works_on_it_with_units() -> None:
    process = GpuProcess(77, "alice", 3 << 30, None)
    one = node("a", (replace(gpu("a", 0, 50.0), processes=(process,)),))
    found = lab()
    (standing,) = standings(one, {}, own_runs(found.jobs), is_stale(found, one))
    facts = dict(describe.unit(standing))
    assert facts["held by"] == "alice, not a job of this cockpit"
    assert facts["pid 77"] == "alice, 3.0 GiB"
    assert facts["GPU"].endswith("util 50%  memory 37.0 GiB of 80.0 GiB  48 °C  340/700 W")


def test_a_jobs_own_process_does_not_make_its_gpu_someone_elses() -> None:
    found = lab(2)
    held, runs = places(found.jobs), own_runs(found.jobs)
    process = GpuProcess(1, "me", None, f"{found.jobs[1].run}/1/gpu2")
    one = node("gpu2", (replace(gpu("gpu2", 0), processes=(process,)),))
    (standing,) = standings(one, held.get("gpu2", {}), runs, stale=False)
    assert standing.tag == "·"


def test_times_and_sizes_are_short_and_have_units() -> None:
    assert [wording.duration(s) for s in (9, 750, 11_050, 1_051_200)] == [
        "9s",
        "12:30",
        "3:04:10",
        "12d 4h",
    ]
    assert [wording.size(n) for n in (10, 1536, 300 << 20, 41 << 30, 3 << 40)] == [
        "10 B",
        "1.5 KiB",
        "300 MiB",
        "41.0 GiB",
        "3.0 TiB",
    ]
    assert wording.percent(None) == "  ?%"
    assert wording.fraction(None, 80 << 30) == "?/80G"
