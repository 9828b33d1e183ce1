"""A job of one process, from prepare to its exit record."""

from __future__ import annotations

from cockpit_node import runs
from tests.node.rig import Rig


def test_a_plain_job_runs_and_its_exit_code_and_streams_are_recorded(rig: Rig) -> None:
    spec = rig.spec(["bash", "-c", "echo out; echo err >&2; exit 3"], units=["slot-0"])
    paths = rig.start(spec)
    end = rig.ended(paths)
    assert (end["code"], end["signal"], end["stopped"], end["leftovers"]) == (3, None, False, 0)
    assert end["first_failure"]["rank"] == 0
    assert end["reason"] == "ended with exit code 3: err"
    streams = {stream["name"]: stream["size"] for stream in rig.look(paths)["streams"]}
    assert streams == {"0.stdout": 4, "0.stderr": 4}
    assert [state["state"] for state in runs.runs(rig.node)] == ["ended"]
