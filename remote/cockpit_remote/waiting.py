"""Waiting for whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_of(*futures: asyncio.Future[Any], within_s: float | None = None) -> None:
    """Until one of `futures` is done or `within_s` is over; nothing is cancelled or raised."""
    waited: set[asyncio.Future[Any]] = set(futures)
    await asyncio.wait(waited, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)


async def unless(ended: asyncio.Future[Any], coming: Coroutine[Any, Any, Any]) -> None:
    """Until `coming` is over or `ended` is done, after which `coming` is cancelled."""
    task = asyncio.ensure_future(coming)
    try:
        await first_of(task, ended)
    finally:
        task.cancel()
