"""Below the map: what is under the cursor, in words."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from cockpit.core.cluster import Cluster, Node
from cockpit.core.text import visible
from cockpit.ui import describe
from cockpit.ui.letters import colour
from cockpit.ui.standing import Holder, Standing


def lines(cluster: Cluster, node: Node, chosen: Standing | None) -> list[Content]:
    """Who is on it, how it does, and what is wrong with it or with its node."""
    if chosen is None:
        trouble = node.error or node.phase
        return [Content.assemble((visible(node.name), "bold"), "  ", node.link.value), _of(trouble)]
    found = [Content.assemble((f"{visible(node.name)}:{chosen.unit.index}", "bold"), "  ")]
    job = None if chosen.job is None else cluster.jobs.get(chosen.job)
    if job is None:
        found[0] += describe.holder(chosen)
    else:
        found[0] += Content.assemble(
            (chosen.letter, f"bold ${colour(chosen.letter)}"),
            f" {visible(job.name)}  job {job.id}, attempt {job.attempt}, rank {chosen.rank}",
        )
    if chosen.idles:
        found[0] += "  held idle"
    gpu = chosen.unit.gpu
    found[0] += "  " + "  ".join(
        visible(f"pid {process.pid} {process.user or '?'}")
        for process in (gpu.processes if gpu else ())
    )
    message = node.reading.gpu_message if node.reading else None
    figures = describe.gpu_words(gpu) if gpu else f"{chosen.unit.id}  {message or ''}"
    old = "old: " if chosen.stale else ""
    found.append(_of(old + figures))
    if chosen.holder is Holder.SICK and gpu:
        found.append(Content.styled(f"▲ {visible(gpu.error or '')}", "$error"))
    elif node.error:
        found.append(Content.styled(visible(f"✗ {node.error}"), "$warning"))
    elif gpu:
        found.append(Content.styled(visible(gpu.uuid), "$text-muted"))
    return found


def _of(text: str) -> Content:
    return Content(visible(text))


class UnitDetail(Widget):
    """Three lines about the unit under the cursor."""

    DEFAULT_CSS = """
    UnitDetail { height: 4; border-top: solid $panel; padding: 0 1; text-wrap: nowrap;
        text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._content = Content("")

    def show(self, cluster: Cluster, node: Node | None, chosen: Standing | None) -> None:
        """Draw again if a word changed."""
        found = [] if node is None else lines(cluster, node, chosen)
        content = Content("\n").join(found) if found else Content("no node yet")
        if content != self._content:
            self._content = content
            self.refresh()

    def render(self) -> Content:
        return self._content
