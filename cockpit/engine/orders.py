"""Orders of people, out of the store's inbox into facts of the core."""

from __future__ import annotations

import json
from typing import Any

from cockpit.core.cluster import Moment
from cockpit.core.events import CancelOrdered, JobSubmitted, RestartOrdered
from cockpit.core.jobs import Checkpoint, Resume
from cockpit.core.request import BadRequest
from cockpit.engine import records
from cockpit.engine.store import Order

OrderEvent = JobSubmitted | CancelOrdered | RestartOrdered


class BadOrder(Exception):
    """An order that no cockpit of this version wrote."""


def cancel_body(grace_s: int | None, forsake: bool = False) -> str:
    return json.dumps({"grace_s": grace_s, "forsake": forsake})


def restart_body(wanted: Resume | Checkpoint) -> str:
    if isinstance(wanted, Resume):
        return json.dumps({"resume": wanted.value})
    return json.dumps({"step": wanted.step, "path": wanted.path})


def event_of(order: Order, at: Moment) -> OrderEvent:
    """Raises BadOrder."""
    try:
        if order.kind == "submit":
            return JobSubmitted(order.job, at, records.load_request(order.body))
        body: dict[str, Any] = json.loads(order.body)
        if order.kind == "cancel":
            return CancelOrdered(order.job, at, body["grace_s"], body["forsake"])
        if order.kind == "restart":
            return RestartOrdered(order.job, at, _wanted(body))
    except (ValueError, TypeError, KeyError, BadRequest) as error:
        raise BadOrder(f"an order to {order.kind} cannot be read: {error!r}") from error
    raise BadOrder(f"nobody here knows how to {order.kind}")


def _wanted(body: dict[str, Any]) -> Resume | Checkpoint:
    return Resume(body["resume"]) if "resume" in body else Checkpoint(body["step"], body["path"])
