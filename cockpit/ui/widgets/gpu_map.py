"""Every node and every GPU, live: a grid that draws only the lines whose nodes changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.core.cluster import Cluster, Node
from cockpit.core.jobs import Job
from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.letters import COLOURS
from cockpit.ui.standing import Place, Places, Standing, is_stale, own_runs, places, standings
from cockpit.ui.widgets import map_cells, map_lines
from cockpit.ui.widgets.map_layout import Layout, Line, NodeShape, Spot, Zoom, best, layout
from cockpit.ui.widgets.map_lines import Drawn

STYLES = (
    *(f"job-{number}" for number in range(1, COLOURS + 1)),
    *("free", "others", "sick", "stale", "head", "lost", "lost-words", "dim", "figure"),
)


@dataclass(frozen=True, slots=True)
class _Source:
    """What a `Drawn` was made of; the same means that it need not be made again."""

    node: Node
    held: Mapping[str, Place]
    runs: frozenset[str]


class GpuMap(ScrollView, can_focus=True):
    """The map; the cursor stands on a unit, or on a node that has none."""

    BINDINGS = bindings(Context.MAP)
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"map--{style}" for style in STYLES}
    DEFAULT_CSS = """
    GpuMap {
        height: 1fr; background: $background; color: $foreground;
        overflow-x: hidden; scrollbar-size-vertical: 1;
        .map--job-1 { color: $job-1; }  .map--job-2 { color: $job-2; }
        .map--job-3 { color: $job-3; }  .map--job-4 { color: $job-4; }
        .map--job-5 { color: $job-5; }  .map--job-6 { color: $job-6; }
        .map--job-7 { color: $job-7; }  .map--job-8 { color: $job-8; }
        .map--free { color: $success; }
        .map--others { color: $secondary; text-style: italic; }
        .map--sick { color: $error; text-style: bold; }
        .map--stale { color: $text-disabled; }
        .map--head { color: $foreground; text-style: bold; }
        .map--lost { color: $error; text-style: bold; }
        .map--lost-words { color: $warning; }
        .map--dim { color: $text-muted; }
        .map--figure { color: $foreground; }
    }
    """

    cursor: reactive[Spot | None] = reactive(None)
    """Where the cursor stands; None until there is a node."""

    class Opened(Message):
        """Enter on a unit that a job holds."""

        def __init__(self, job: int) -> None:
            super().__init__()
            self.job = job

    class Moved(Message):
        """The cursor stands somewhere else, or what is under it changed."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = Layout(Zoom.FULL, (), (), 0, 0, 0)
        self._shapes: tuple[NodeShape, ...] = ()
        self._zoom: Zoom | None = None
        """None chooses what fits best."""
        self._jobs: Mapping[int, Job] = {}
        self._held: Places = {}
        self._runs: frozenset[str] = frozenset()
        self._drawn: dict[str, Drawn] = {}
        self._sources: dict[str, _Source] = {}
        self._lines_of: dict[str, list[int]] = {}
        self._strips: dict[int, Strip] = {}

    def show(self, cluster: Cluster) -> None:
        """Draw again the lines of the nodes that look different now."""
        changed = self._update(cluster)
        shapes = tuple(_shape(cluster.nodes[name], self._drawn[name]) for name in cluster.nodes)
        if shapes != self._shapes:
            self._shapes = shapes
            self._arrange()
            return
        for name in changed:
            for y in self._lines_of.get(name, ()):
                self._redraw(y)
        if self.cursor and self.cursor.node in changed:
            self.post_message(self.Moved())

    def _update(self, cluster: Cluster) -> list[str]:
        if cluster.jobs is not self._jobs:
            self._jobs = cluster.jobs
            self._held, self._runs = places(cluster.jobs), own_runs(cluster.jobs)
        held, runs = self._held, self._runs
        changed: list[str] = []
        for name, node in cluster.nodes.items():
            stale = is_stale(cluster, node)
            source = _Source(node, held.get(name, {}), runs)
            old = self._sources.get(name)
            if not stale and old and old.node is node and old == source:
                continue
            drawn = Drawn(map_cells.head(cluster, node), standings(node, source.held, runs, stale))
            self._sources[name] = source
            if drawn != self._drawn.get(name):
                self._drawn[name] = drawn
                changed.append(name)
        return changed

    def on_resize(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Lay everything out anew; the cursor stays on its unit."""
        width, height = self.container_size.width - 1, self.container_size.height
        if width < 1:
            return
        zoom = self._zoom or best(self._shapes, width, height)
        self._layout = layout(self._shapes, width, height, zoom)
        self._lines_of = {shape.name: [] for shape in self._shapes}
        for y, line in enumerate(self._layout.lines):
            for stretch in line.stretches:
                self._lines_of[stretch.node].append(y)
        self._strips.clear()
        self.virtual_size = Size(width, len(self._layout.lines))
        self.cursor = self._find(self.cursor)
        self.refresh()
        self.post_message(self.Moved())

    def _find(self, spot: Spot | None) -> Spot | None:
        spots = [one for row in self._layout.rows for one in row]
        if spot is not None:
            here = [one for one in spots if one.node == spot.node]
            exact = [one for one in here if one.unit == spot.unit]
            if found := exact or here:
                return found[0]
        return spots[0] if spots else None

    # --- what is under the cursor

    @property
    def zoom(self) -> Zoom:
        return self._layout.zoom

    @property
    def chosen(self) -> Standing | None:
        """The unit under the cursor."""
        if self.cursor is None or self.cursor.node not in self._drawn:
            return None
        units = self._drawn[self.cursor.node].standings
        return units[self.cursor.unit] if self.cursor.unit < len(units) else None

    def watch_cursor(self, old: Spot | None, new: Spot | None) -> None:
        for spot in (old, new):
            for y in range(spot.y, spot.y + spot.height) if spot else ():
                self._redraw(y)
        if new is not None:
            row = next((n for n, row in enumerate(self._layout.rows) if new in row), 0)
            top = 0 if row == 0 else new.y - (self.zoom is Zoom.FULL)
            self.scroll_to_region(
                Region(0, top, 1, new.y + new.height - top), animate=False, force=True
            )
        self.post_message(self.Moved())

    # --- keys and mouse

    def action_open(self) -> None:
        chosen = self.chosen
        if chosen is not None and chosen.job is not None:
            self.post_message(self.Opened(chosen.job))
        else:
            self.app.notify(
                "No job of this cockpit is on it. Press n for a new one, d for all that is known.",
                markup=False,
            )

    def action_zoom(self) -> None:
        """The next zoom; the one that fits best goes back to choosing by itself."""
        zooms = list(Zoom)
        following = zooms[(zooms.index(self.zoom) + 1) % len(zooms)]
        fits = best(self._shapes, self.container_size.width - 1, self.container_size.height)
        self._zoom = None if following is fits else following
        self._arrange()

    def action_go_left(self) -> None:
        self._step(-1)

    def action_go_right(self) -> None:
        self._step(1)

    def action_go_down(self) -> None:
        self._climb(1)

    def action_go_up(self) -> None:
        self._climb(-1)

    def action_half_down(self) -> None:
        self._climb(max(1, self.size.height // 4))

    def action_half_up(self) -> None:
        self._climb(-max(1, self.size.height // 4))

    def action_go_first(self) -> None:
        self._step(-len(self._layout.lines) * 1024)

    def action_go_last(self) -> None:
        self._step(len(self._layout.lines) * 1024)

    def _step(self, by: int) -> None:
        spots = [spot for row in self._layout.rows for spot in row]
        if self.cursor in spots:
            self.cursor = spots[min(max(spots.index(self.cursor) + by, 0), len(spots) - 1)]

    def _climb(self, by: int) -> None:
        rows, cursor = self._layout.rows, self.cursor
        at = next((n for n, row in enumerate(rows) if cursor in row), None)
        if at is None or cursor is None:
            return
        row = rows[min(max(at + by, 0), len(rows) - 1)]
        self.cursor = min(row, key=lambda spot: abs(spot.x - cursor.x))

    def on_click(self, event: events.Click) -> None:
        x, y = event.x + self.scroll_offset.x, event.y + self.scroll_offset.y
        for spot in (spot for row in self._layout.rows for spot in row):
            if spot.x <= x < spot.x + spot.width and spot.y <= y < spot.y + spot.height:
                self.cursor = spot

    # --- drawing

    def _redraw(self, y: int) -> None:
        self._strips.pop(y, None)
        top = y - self.scroll_offset.y
        if 0 <= top < self.size.height:
            self.refresh(Region(0, top, self.size.width, 1))

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        width = self.scrollable_content_region.width
        if y >= len(self._layout.lines):
            return Strip.blank(width, self.rich_style)
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._strip(self._layout.lines[y], y, width)
        return strip

    def _strip(self, line: Line, y: int, width: int) -> Strip:
        segments: list[Segment] = []
        used = 0
        blank = self._style("dim", False)
        for stretch in line.stretches:
            if (gap := stretch.x - used) > 0:
                segments.append(Segment(" " * gap, blank))
                used += gap
            drawn, unit = self._drawn[stretch.node], self._lit(stretch.node, y)
            room = width - stretch.x
            found = map_lines.pieces(line.kind, stretch, drawn, self._layout, room, unit)
            for piece, lit in found:
                segments.append(Segment(piece.text, self._style(piece.style, lit)))
                used += cell_len(piece.text)
        return Strip(segments, used).adjust_cell_length(width, self.rich_style)

    def _style(self, name: str, lit: bool) -> Style:
        style = self.get_component_rich_style(f"map--{name}")
        return style + Style(reverse=True) if lit else style

    def _lit(self, node: str, y: int) -> int | None:
        """The unit of a node that is under the cursor, if that is on this line."""
        spot = self.cursor
        is_here = spot is not None and spot.node == node and spot.y <= y < spot.y + spot.height
        return spot.unit if spot is not None and is_here else None


def _shape(node: Node, drawn: Drawn) -> NodeShape:
    has_gpus = any(standing.unit.gpu for standing in drawn.standings)
    return NodeShape(node.name, len(drawn.standings), has_gpus, cell_len(visible(node.name)))
