"""Live graphs of a job: loss, throughput and GPU use, drawn when they are seen and changed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from cockpit.core.figures import short
from cockpit.ui.actions import Context, bindings
from cockpit.ui.model import Point
from cockpit.ui.widgets.curves import LEAST_HEIGHT, draw

LOOK_S = 0.4
"""Seconds between two looks at the points."""

_STROKES = re.compile("[\u2801-\u28ff]+|x+")


@dataclass(frozen=True, slots=True)
class Topic:
    """What one graph shows."""

    metric: str
    title: str
    unit: str
    waits_for: str
    """What has to happen before there is a first point."""
    limits: tuple[float, float] | None = None
    """Of the values, where they are known beforehand."""


TOPICS = (
    Topic("loss", "loss", "", "the first step that logs a loss"),
    Topic("tokens_per_s", "tokens/s", "tok/s", "the second step that logs tokens_per_s"),
    Topic("gpu_used_pct", "GPU use", "%", "a reading of a GPU of the job", (0, 100)),
)


class Graph(Widget):
    """One graph with its newest value in the title."""

    DEFAULT_CSS = """
    Graph { width: 1fr; height: 1fr; color: $text-muted; }
    """
    points: reactive[Sequence[Point]] = reactive[Sequence[Point]]((), always_update=True)

    def __init__(self, topic: Topic, number: int) -> None:
        super().__init__()
        self.topic = topic
        self._colour = f"$job-{number}"

    def render(self) -> Content:
        width, height = self.size
        curve = draw(self.points, width, height - 1, self.topic.limits)
        lines = [self._title(curve.remarks)]
        if curve.rows:
            lines += [self._coloured(row) for row in curve.rows]
        else:
            lines += self._absence()
        return Content("\n").join(lines[:height])

    def _title(self, remarks: Sequence[str]) -> Content:
        newest = short(self.points[-1].value) if self.points else "none"
        value = f"{newest} {self.topic.unit}".rstrip()
        axis, *troubles = remarks or [""]
        notes = "".join(f"  {trouble}" for trouble in troubles)
        room = self.size.width - sum(map(cell_len, (self.topic.title, value, axis))) - 5
        return Content.assemble(
            (f" {self.topic.title} ", "bold $foreground"),
            (f"{value} ", f"bold {self._colour}"),
            f" {axis} ",
            (notes if cell_len(notes) <= room else set_cell_size(notes, max(0, room)), "$warning"),
        )

    def _absence(self) -> list[Content]:
        if not self.points:
            return [Content(" no data yet"), Content(f" waits for {self.topic.waits_for}")]
        if self.size.height - 1 < LEAST_HEIGHT:
            return []
        return [Content(" nothing that can be drawn: no value is finite")]

    def _coloured(self, row: str) -> Content:
        content = Content(row)
        for stroke in _STROKES.finditer(row):
            content = content.stylize(self._colour, stroke.start(), stroke.end())
        return content


class Graphs(Container, can_focus=True):
    """All graphs, or one alone where there is little room; left and right choose it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.GRAPHS)
    DEFAULT_CSS = """
    Graphs {
        layout: grid;
        grid-size: 2;
        grid-rows: 1fr;
        & > Graph:first-child { column-span: 2; }
        &.-alone { layout: vertical; }
        &.-alone > Graph { display: none; }
        &.-alone > Graph.-chosen { display: block; }
    }
    """
    chosen: reactive[int] = reactive(0)
    zoomed: reactive[bool] = reactive(False)

    def __init__(self) -> None:
        super().__init__()
        self._shown_at = float("-inf")
        self._counts: dict[str, tuple[int, Point | None]] = {}

    def compose(self) -> ComposeResult:
        for number, topic in enumerate(TOPICS, 1):
            yield Graph(topic, number)

    def on_resize(self) -> None:
        self._arrange()

    @property
    def is_due(self) -> bool:
        """Whether it is worth asking for the points again."""
        return time.monotonic() - self._shown_at >= LOOK_S

    def show(self, metrics: Mapping[str, Sequence[Point]]) -> None:
        """Draw the graphs whose points changed."""
        self._shown_at = time.monotonic()
        for graph in self.query(Graph):
            points = metrics.get(graph.topic.metric, ())
            state = (len(points), points[-1] if points else None)
            if self._counts.get(graph.topic.metric) != state:
                self._counts[graph.topic.metric] = state
                graph.points = points

    def action_graph(self, by: int) -> None:
        self.chosen = (self.chosen + by) % len(TOPICS)

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed

    def watch_chosen(self) -> None:
        self._arrange()

    def watch_zoomed(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        self.set_class(self.zoomed or self.size.height < 18 or self.size.width < 60, "-alone")
        for number, graph in enumerate(self.query(Graph)):
            graph.set_class(number == self.chosen, "-chosen")
