"""How times, sizes and speeds are written on every screen."""

from __future__ import annotations

import time

from rich.cells import cell_len, set_cell_size

GIB = 1 << 30


def duration(seconds: float) -> str:
    """`41s`, `12:30`, `3:04:10`, `12d 4h`; short enough for a column."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    if whole < 86400:
        return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{whole // 86400}d {whole // 3600 % 24}h"


def up_for(seconds: float) -> str:
    """`12d`, `3h`, `5m`: how long a machine is up."""
    if seconds >= 86400:
        return f"{int(seconds // 86400)}d"
    return f"{int(seconds // 3600)}h" if seconds >= 3600 else f"{int(seconds // 60)}m"


def clock(wall: float) -> str:
    """Unix seconds as local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(wall))


def day(wall: float) -> str:
    """Unix seconds as local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))


def size(count: float) -> str:
    """Bytes with a binary unit, three digits: `71.2 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def percent(value: float | None) -> str:
    """` 97%`, always four characters; unknown is `  ?%`."""
    return "  ?%" if value is None else f"{min(max(value, 0.0), 999.0):3.0f}%"


def fraction(used: int | None, total: int | None) -> str:
    """`71/80G`, in GiB; unknown is `?`."""
    if used is None and total is None:
        return ""
    left = "?" if used is None else f"{used / GIB:.0f}"
    return f"{left}/{total / GIB:.0f}G" if total else f"{left}G"


def path(text: str, cells: int) -> str:
    """A path's useful end in so many cells: `…/checkpoints/step-00000300`."""
    kept = text
    while cell_len(kept) > cells and "/" in kept.removeprefix("…/"):
        kept = f"…/{kept.removeprefix('…/').partition('/')[2]}"
    mark = len("…") if cell_len(kept) > cells else 0
    while cell_len(kept) + mark > cells and kept:
        kept = kept[1:]
    return "…" * mark + kept


def cut(text: str, cells: int) -> str:
    """The beginning, with a mark where there is more."""
    if cell_len(text) <= cells:
        return text
    return f"{set_cell_size(text, max(0, cells - 1)).rstrip()}…"
