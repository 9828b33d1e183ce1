"""What the map writes for one node or unit: pieces of text with the name of their style; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from cockpit.core.cluster import Cluster, LinkState, Node
from cockpit.core.figures import counted
from cockpit.core.text import visible
from cockpit.ui import wording
from cockpit.ui.letters import colour
from cockpit.ui.standing import STALE_AFTER_S, Holder, Standing, age_s

BLOCKS = " ▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Piece(NamedTuple):
    """Some text of the map in one style."""

    text: str
    style: str
    """A component class of the map without `map--`."""
    is_bar: bool = False
    """Its shape is a figure, which the cursor must not turn inside out."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is said of a node itself; everything is safe to show."""

    name: str
    is_up: bool
    mark: str
    """`✗`, `…` or nothing: readable without colour."""
    words: str
    right: str = ""
    """What its units are."""


def head(cluster: Cluster, node: Node) -> Head:
    """Health of a node in a line; for one that is not up: since when, why, and what comes next."""
    name, age = visible(node.name), age_s(cluster, node)
    seen = ""
    if node.read_at is not None and age is not None:
        ago = wording.duration(age)
        seen = f" (last reading {wording.clock(node.read_at.wall)}, {ago} ago)"
    match node.link:
        case LinkState.REFUSED:
            return Head(name, False, "✗", f"needs you: {visible(node.error or 'refused')}{seen}")
        case LinkState.UNREACHABLE:
            words = f"no answer{seen}{_next_try(cluster, node)}"
            why = f": {visible(node.error)}" if node.error else ""
            return Head(name, False, "✗", words + why, _kind(node))
        case LinkState.CONNECTING:
            return Head(name, False, "…", visible(node.phase or "connecting") + seen)
    if age is None:
        return Head(name, False, "…", visible(node.phase or "waiting for its first reading"))
    if age > STALE_AFTER_S:
        return Head(name, False, "…", f"no reading for {wording.duration(age)}", _kind(node))
    return Head(name, True, "", _health(node), _kind(node))


def _next_try(cluster: Cluster, node: Node) -> str:
    if node.retry_in_s is None:
        return ""
    left = node.retry_in_s - (cluster.now.mono - node.changed.mono)
    return f", next try in {left:.0f} s" if left >= 1 else ", trying again"


def _health(node: Node) -> str:
    reading = node.reading
    assert reading is not None
    words: list[str] = []
    if reading.uptime_s is not None:
        words.append(f"up {wording.up_for(reading.uptime_s)}")
    if reading.cpu_used_pct is not None:
        words.append(f"cpu {wording.percent(reading.cpu_used_pct).strip()}")
    if ram := wording.fraction(reading.memory_used_bytes, reading.memory_total_bytes):
        words.append(f"ram {ram}")
    if reading.sent_bytes_per_s is not None and reading.received_bytes_per_s is not None:
        sent, received = map(_rate, (reading.sent_bytes_per_s, reading.received_bytes_per_s))
        words.append(f"net {sent}↑ {received}↓ MB/s")
    if reading.gpu_message and not reading.gpus:
        words.append(visible(reading.gpu_message))
    return "  ".join(words)


def _rate(bytes_per_s: float) -> str:
    """In MB/s, two digits at least where it is not next to nothing."""
    return f"{bytes_per_s / 1e6:.0f}" if bytes_per_s >= 1e7 else f"{bytes_per_s / 1e6:.1f}"


def _kind(node: Node) -> str:
    units = node.units
    if not units:
        return "no units"
    gpu = units[0].gpu
    if gpu is None:
        return counted(len(units), "CPU slot")
    name = visible(gpu.name or "GPU", 32).removeprefix("NVIDIA ")
    is_told = "simulated" in name.casefold() or not gpu.simulated
    return f"{name} x{len(units)}{'' if is_told else ' simulated'}"


def head_line(head: Head, width: int) -> list[Piece]:
    """Name, health, and what its units are to the right if there is room."""
    mark = f" {head.mark}" if head.mark else ""
    style = "head" if head.is_up else "lost"
    name = f" {cut(head.name, max(12, width // 3))}{mark}  "
    room = width - cell_len(name)
    right = f"  {head.right} " if cell_len(head.words) + cell_len(head.right) + 3 <= room else ""
    words = set_cell_size(cut(head.words, room), room - cell_len(right))
    told = Piece(words, "dim" if head.is_up else "lost-words")
    return [Piece(name, style), told, Piece(right, "dim")]


def bar(standing: Standing, width: int) -> list[Piece]:
    """First line of a unit at full zoom: who, and how busy."""
    style = _style(standing)
    match standing.holder:
        case Holder.JOB if standing.unit.gpu:
            tag, room = set_cell_size(standing.tag, 4), width - 9
            shape = "░" * room if standing.stale else _bar(standing.used_pct, room)
            note = wording.percent(standing.used_pct)
            figure = Piece(f" {note}", _plain(standing))
            return [Piece(tag, style), Piece(shape, style, is_bar=True), figure]
        case Holder.JOB:
            return [Piece(set_cell_size(f"{standing.tag:<4}slot", width), style)]
        case Holder.OTHERS if standing.unit.gpu:
            who = set_cell_size(cut(standing.tag, width - 5), width - 5)
            used = f" {wording.percent(standing.used_pct)}"
            return [Piece(who, style), Piece(used, _plain(standing))]
        case Holder.OTHERS:
            return [Piece(set_cell_size(cut(standing.tag, width), width), style)]
        case Holder.SICK:
            error = visible(standing.unit.gpu.error or "") if standing.unit.gpu else ""
            return [Piece(set_cell_size(cut(f"▲   {error or 'sick'}", width), width), style)]
        case Holder.FREE:
            word = "free" if not standing.stale else "░ was free"
            return [Piece(set_cell_size(f"·   {word}", width), style)]


def figures(standing: Standing, width: int) -> list[Piece]:
    """Second line of a unit at full zoom: memory and temperature."""
    gpu = standing.unit.gpu
    if gpu is None or (standing.holder is Holder.FREE and not gpu.memory_used_bytes):
        return [Piece(" " * width, "dim")]
    memory = wording.fraction(gpu.memory_used_bytes, gpu.memory_total_bytes)
    heat = "" if gpu.temperature_c is None else f" {gpu.temperature_c:.0f}°"
    indent = "    " if cell_len(memory + heat) + 4 <= width else ""
    return [
        Piece(set_cell_size(indent + memory + heat, width), "stale" if standing.stale else "dim")
    ]


def word(standing: Standing, width: int) -> list[Piece]:
    """A unit at compact zoom: `A0 ▇ 97%`."""
    style = _style(standing)
    if standing.holder is Holder.SICK:
        return [Piece(set_cell_size("▲ sick", width), style)]
    if standing.unit.gpu is None:
        note = "slot" if standing.holder is Holder.JOB else ""
    elif standing.holder is Holder.FREE:
        note = ""
    else:
        used = wording.percent(standing.used_pct).strip()
        note = dot(standing)[1] + (used if width > 8 else used.removesuffix("%"))
    room = width - 1 - len(note)
    shown = set_cell_size(cut(standing.tag, room), room)
    return [Piece(shown, style), Piece(note + " ", _plain(standing))]


def dot(standing: Standing) -> str:
    """A unit at dots zoom: letter and height, two characters."""
    if standing.holder is not Holder.JOB:
        return standing.tag[0] + ("░" if standing.stale else " ")
    return standing.letter + ("░" if standing.stale else _block(standing))


def dots(standing: Standing, width: int) -> list[Piece]:
    """A unit at dots zoom; of one column, the letter alone."""
    return [Piece(dot(standing)[:width], _style(standing))]


def cut(text: str, width: int) -> str:
    """At most `width` columns, with an ellipsis where something is missing."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"


def _block(standing: Standing) -> str:
    if standing.unit.gpu is None:
        return " "
    used = standing.used_pct
    return "?" if used is None else BLOCKS[1 + round(min(max(used, 0.0), 100.0) / 100 * 7)]


def _bar(used_pct: float | None, width: int) -> str:
    if used_pct is None:
        return "?" + " " * (width - 1)
    eighths = round(min(max(used_pct, 0.0), 100.0) / 100 * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def _style(standing: Standing) -> str:
    if standing.stale:
        return "stale"
    return colour(standing.letter) if standing.holder is Holder.JOB else standing.holder.value


def _plain(standing: Standing) -> str:
    return "stale" if standing.stale else "figure"
