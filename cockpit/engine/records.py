"""Jobs as rows of the store: plain JSON with a version, readable for ever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cockpit.core.jobs import (
    After,
    Checkpoint,
    Exit,
    Failure,
    Job,
    JobState,
    Part,
    PartState,
    Resume,
    Stream,
)
from cockpit.core.request import Request

VERSION = 1
_Json = Mapping[str, Any]


def dump_request(request: Request) -> str:
    return json.dumps({"version": VERSION, **asdict(request)}, separators=(",", ":"))


def load_request(text: str) -> Request:
    """Raises ValueError, TypeError or BadRequest on what is no request."""
    return _request(json.loads(text))


def dump_job(job: Job) -> str:
    return json.dumps({"version": VERSION, **asdict(job)}, separators=(",", ":"))


def load_job(text: str) -> Job:
    """Raises ValueError, KeyError or TypeError on what is no job."""
    found = json.loads(text)
    if found.pop("version") != VERSION:
        raise ValueError("a job record of another version")
    wanted = found.pop("wanted")
    return Job(
        request=_request(found.pop("request")),
        state=JobState(found.pop("state")),
        parts=tuple(_part(part) for part in found.pop("parts")),
        after=After(found.pop("after")),
        resume=_checkpoint(found.pop("resume")),
        wanted=Resume(wanted) if isinstance(wanted, str) else _checkpoint(wanted),
        checkpoint=_checkpoint(found.pop("checkpoint")),
        **found,
    )


def _request(found: _Json) -> Request:
    kept = {key: value for key, value in found.items() if key != "version"}
    return Request(**{**kept, "argv": tuple(found["argv"]), "setup": tuple(found["setup"])})


def _checkpoint(found: _Json | None) -> Checkpoint | None:
    return None if found is None else Checkpoint(**found)


def _part(found: _Json) -> Part:
    ended = found["exit"]
    rebuilt: dict[str, Any] = {
        "units": tuple(found["units"]),
        "indices": tuple(found["indices"]),
        "state": PartState(found["state"]),
        "streams": tuple(Stream(**stream) for stream in found["streams"]),
        "pids": {int(rank): pid for rank, pid in found["pids"].items()},
        "exit": None if ended is None else _exit(ended),
    }
    return Part(**{**found, **rebuilt})


def _exit(found: _Json) -> Exit:
    failure = found["failure"]
    return Exit(**{**found, "failure": None if failure is None else Failure(**failure)})
