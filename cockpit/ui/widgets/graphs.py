"""Live graphs of a job: loss, throughput and GPU use, drawn when they are seen and changed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from cockpit.core.figures import short
from cockpit.ui.actions import Context, bindings
from cockpit.ui.model import Point
from cockpit.ui.widgets.curves import LEAST_HEIGHT, SINGLE, draw

LOOK_S = 0.4
"""Seconds between two looks at the points."""

ROOMY = 16
"""Lines from which all graphs are shown at once."""
_STROKES = re.compile(f"[\u2801-\u28ff{SINGLE}]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """What one graph shows."""

    metric: str
    title: str
    unit: str
    waits_for: str
    """What has to happen before there is a first point."""
    never: str
    """That it never happened."""
    limits: tuple[float, float] | None = None
    """Of the values, where they are known beforehand."""


TOPICS = (
    Topic("loss", "loss", "", "the first step that logs a loss", "no loss was printed"),
    Topic(
        "tokens_per_s",
        "speed",
        "tok/s",
        "the second step that logs tokens_per_s",
        "no tokens_per_s was printed",
    ),
    Topic(
        "gpu_used_pct",
        "GPU use",
        "%",
        "a reading of a GPU of the job",
        "no GPU of it was read",
        (0, 100),
    ),
)


class Graph(Widget):
    """One graph with its newest value in the title."""

    DEFAULT_CSS = """
    Graph { width: 1fr; height: 1fr; color: $text-muted; }
    """
    points: reactive[Sequence[Point]] = reactive[Sequence[Point]]((), always_update=True)
    is_over: reactive[bool] = reactive(False)
    """The job ended: what it did not print will not come."""

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
        """Name, newest value, axis and troubles: each whole or not at all."""
        title = Content.assemble((f" {self.topic.title}", "bold $foreground"))
        if self.points:
            value = f"{short(self.points[-1].value)} {self.topic.unit}".rstrip()
            title += Content.assemble((f" {value}", f"bold {self._colour}"))
        for place, remark in enumerate(remarks):
            if title.cell_length + cell_len(remark) + 3 <= self.size.width:
                title += Content.assemble("  ", (remark, "$warning" if place else ""))
        return title

    def _absence(self) -> list[Content]:
        if not self.points and self.is_over:
            return [Content(f" {self.topic.never}")]
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
        & > Graph.-wide { column-span: 2; }
        & > Graph.-empty { display: none; }
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

    @property
    def graphs(self) -> list[Graph]:
        """Those with data; all while none has any."""
        everyone = list(self.query(Graph))
        return [graph for graph in everyone if graph.points] or everyone

    def show(self, metrics: Mapping[str, Sequence[Point]], is_over: bool) -> None:
        """Draw the graphs whose points changed."""
        self._shown_at = time.monotonic()
        before = self.graphs
        for graph in self.query(Graph):
            graph.is_over = is_over
            points = metrics.get(graph.topic.metric, ())
            state = (len(points), points[-1] if points else None)
            if self._counts.get(graph.topic.metric) != state:
                self._counts[graph.topic.metric] = state
                graph.points = points
        if self.graphs != before:
            self._arrange()

    def action_graph(self, by: int) -> None:
        everyone, shown = list(self.query(Graph)), self.graphs
        at = shown.index(everyone[self.chosen]) if everyone[self.chosen] in shown else 0
        self.chosen = everyone.index(shown[(at + by) % len(shown)])

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed

    def watch_chosen(self) -> None:
        self._arrange()

    def watch_zoomed(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        self.set_class(self.zoomed or self.size.height < ROOMY or self.size.width < 60, "-alone")
        everyone, shown = list(self.query(Graph)), self.graphs
        chosen = everyone[self.chosen] if everyone[self.chosen] in shown else shown[0]
        for graph in everyone:
            graph.set_class(graph is chosen, "-chosen")
            graph.set_class(graph not in shown, "-empty")
            graph.set_class(graph is shown[0] or len(shown) < len(everyone), "-wide")
