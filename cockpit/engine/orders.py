"""Orders of people, out of the store's inbox into facts of the core."""

from __future__ import annotations

import json
from typing import Any

from cockpit.core.cluster import Moment
from cockpit.core.events import CancelOrdered, JobSubmitted, RestartOrdered
from cockpit.core.jobs import Checkpoint, Resume
from cockpit.core.request import BadRequest, Request
from cockpit.engine import records
from cockpit.engine.store import Order

_MALFORMED = (OverflowError, ValueError, TypeError, KeyError, AttributeError)
"""What reading a body of the wrong shape raises."""
OrderEvent = JobSubmitted | CancelOrdered | RestartOrdered


class BadOrder(Exception):
    """An order that no cockpit of this version wrote."""


def cancel_body(grace_s: int | None, forsake: bool = False) -> str:
    return json.dumps({"grace_s": grace_s, "forsake": forsake})


def restart_body(wanted: Resume | Checkpoint) -> str:
    if isinstance(wanted, Resume):
        return json.dumps({"resume": wanted.value})
    return json.dumps({"step": wanted.step, "path": wanted.path})


def request_of(order: Order) -> Request:
    """Of a submission. Raises BadOrder."""
    try:
        return records.load_request(order.body)
    except (*_MALFORMED, BadRequest) as error:
        raise _unreadable(order, error) from error


def event_of(order: Order, at: Moment) -> OrderEvent:
    """Raises BadOrder."""
    if order.kind == "submit":
        return JobSubmitted(order.job, at, request_of(order), order.time)
    try:
        body: dict[str, Any] = json.loads(order.body)
        if order.kind == "cancel":
            return CancelOrdered(order.job, at, _grace(body["grace_s"]), bool(body["forsake"]))
        if order.kind == "restart":
            return RestartOrdered(order.job, at, _wanted(body))
    except _MALFORMED as error:
        raise _unreadable(order, error) from error
    raise BadOrder(f"nobody here knows how to {order.kind}")


def _unreadable(order: Order, error: Exception) -> BadOrder:
    return BadOrder(f"an order to {order.kind} cannot be read: {error!r}")


def _grace(value: Any) -> int | None:
    return None if value is None else max(0, int(value))


def _wanted(body: dict[str, Any]) -> Resume | Checkpoint:
    if "resume" in body:
        return Resume(body["resume"])
    return Checkpoint(int(body["step"]), str(body["path"]))
