"""Nothing that a node sends gets further than its shape allows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cockpit_remote.messages import BadMessage, check

READING: dict[str, Any] = {
    "type": "reading",
    "seq": 1,
    "time": 1764496000.1,
    "uptime_s": None,
    "cpu": {"used_pct": None, "cores": 64},
    "load": [None, None, None],
    "memory": {"total_bytes": 1, "used_bytes": None},
    "disks": [{"path": "/", "total_bytes": 1, "free_bytes": 1}],
    "network": {"received_bytes_per_s": None, "sent_bytes_per_s": 1.5},
    "gpus": [
        {
            "uuid": "GPU-1",
            "index": 0,
            "name": "x",
            "simulated": False,
            "used_pct": 97,
            "processes": [{"pid": 1, "user": None, "memory_bytes": None, "run": None}],
        }
    ],
    "gpu_source": "nvml",
    "gpu_message": None,
    "slots": None,
    "leases": [],
}


def test_a_good_reading_passes() -> None:
    assert check(READING) == "reading"
    assert check({**READING, "gpus": None, "slots": None}) == "reading"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", "1"),
        ("seq", True),
        ("seq", 10**400),
        ("time", json.loads("NaN")),
        ("time", json.loads("1e999")),
        ("cpu", []),
        ("cpu", None),
        ("load", "1 1 1"),
        ("load", [{}]),
        ("gpus", {"0": {}}),
        ("gpus", [None]),
        ("gpus", [{**READING["gpus"][0], "uuid": 7}]),
        ("gpus", [{**READING["gpus"][0], "processes": [{"pid": "1"}]}]),
        ("disks", [[]]),
        ("gpu_source", None),
        ("slots", 1.5),
        ("slots", -1),
        ("slots", 10**9),
    ],
)
def test_a_reading_of_the_wrong_shape_is_refused(field: str, value: object) -> None:
    with pytest.raises(BadMessage, match=field):
        check({**READING, field: value})


def test_an_unknown_message_is_refused() -> None:
    with pytest.raises(BadMessage, match="unknown message"):
        check({"type": "x" * 1000})


def test_what_a_run_says_of_itself_is_text_or_nothing() -> None:
    run = {"type": "run", "run": "01RUN", "attempt": 1, "node": "gpu1", "state": "unknown"}
    assert check(run) == check({**run, "message": "spec.json is gone"}) == "run"
    with pytest.raises(BadMessage, match="message"):
        check({**run, "message": ["spec.json is gone"]})
