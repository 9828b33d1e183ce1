"""What all screens share: the top line, the tabs and the keys, around a body that draws a snapshot."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen

from cockpit.core.cluster import Cluster
from cockpit.ui.actions import Context
from cockpit.ui.model import Model
from cockpit.ui.widgets.key_line import KeyLine
from cockpit.ui.widgets.tabs import Tabs
from cockpit.ui.widgets.top_line import TopLine


class Framed(Screen[None]):
    """A screen that draws what changed in the snapshot, ten times a second while it is shown."""

    TAB: ClassVar[str] = ""
    """The argument of `go` that leads here."""
    CONTEXTS: ClassVar[tuple[Context, ...]] = ()
    """Whose keys work here, those of the widgets in it first."""
    AUTO_FOCUS: ClassVar[str | None] = "#body *"

    class Opened(Message):
        """The person wants to see a job."""

        def __init__(self, job: int) -> None:
            super().__init__()
            self.job = job

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self._drawn: Cluster | None = None
        self._is_whole = False
        """Every widget is there; the app's tick may come before that."""

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield Tabs(self.TAB)
        with Vertical(id="body"):
            yield from self.body()
        yield KeyLine(self.contexts)

    def body(self) -> ComposeResult:
        """The widgets between the tabs and the keys."""
        raise NotImplementedError

    def show(self, cluster: Cluster) -> None:
        """Draw what changed since the last snapshot that was shown."""
        raise NotImplementedError

    @property
    def contexts(self) -> tuple[Context, ...]:
        """Whose keys work just now, for the help and the key line."""
        return self.CONTEXTS

    @property
    def chosen_job(self) -> int | None:
        """The job that `r`, `c`, `l` and the like are about."""
        return None

    def on_mount(self) -> None:
        self._is_whole = True
        self.draw()

    def tick(self) -> None:
        """Called by the app at 10 Hz, also while it takes its screens down."""
        if self._is_whole and self.app.is_running:
            self.draw()

    def draw(self) -> None:
        """Costs next to nothing while nothing changes."""
        cluster, drawn = self.model.cluster, self._drawn
        if drawn is None or _differ(drawn, cluster):
            drawn = self._drawn = cluster
            self.show(cluster)
        self.query_one(TopLine).show(drawn, self.model.alert)
        self.query_one(KeyLine).show(self.contexts)
        self.query_one(Tabs).show(drawn, self.chosen_job, self.model.engine)


def _differ(old: Cluster, new: Cluster) -> bool:
    """Anything to draw: a clock that ticked matters by the second, in which ages are told."""
    if old.nodes is not new.nodes or old.jobs is not new.jobs or old.name != new.name:
        return True
    return int(old.now.mono) != int(new.now.mono)
