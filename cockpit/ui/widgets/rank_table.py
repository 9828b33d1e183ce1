"""Every rank of an attempt: where it runs, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import DataTable

from cockpit.core.cluster import Cluster
from cockpit.core.jobs import Exit, Job, Part, PartState
from cockpit.core.text import visible
from cockpit.ui.actions import Context, bindings
from cockpit.ui.standing import is_stale
from cockpit.ui.widgets.row_table import RowTable


@dataclass(frozen=True, slots=True)
class RankRow:
    """Every field is safe to show; its name is the heading of its column."""

    rank: str
    node: str
    unit: str
    pid: str
    state: str
    exit: str


def rank_rows(cluster: Cluster, job: Job) -> dict[int, RankRow]:
    """By global rank."""
    rows: dict[int, RankRow] = {}
    for part in job.parts:
        node = cluster.nodes.get(part.node)
        silent = node is not None and is_stale(cluster, node)
        for local in range(len(part.units)):
            rank = part.node_rank * job.request.gpus + local
            rows[rank] = _row(part, rank, local, silent)
    return rows


def _row(part: Part, rank: int, local: int, silent: bool) -> RankRow:
    state = {
        PartState.ASKED: "preparing",
        PartState.PREPARED: "prepared",
        PartState.STARTED: "running",
        PartState.ENDED: "ended",
    }[part.state]
    if silent and part.state is not PartState.ENDED:
        state += "? node silent"
    if part.unsupervised:
        state += ", unsupervised"
    index = part.indices[local] if local < len(part.indices) else "?"
    pid = part.pids.get(rank)
    return RankRow(
        str(rank),
        visible(part.node, 40),
        f"{index}",
        "" if pid is None else str(pid),
        state,
        visible(_ending(part.exit, rank), 200) if part.exit else "",
    )


def _ending(end: Exit, rank: int) -> str:
    """The first failure is told at its rank; the launcher's end at all others."""
    failure = end.failure
    if failure and failure.rank == rank:
        how = f"killed by {failure.signal}" if failure.signal else f"code {failure.code}"
        return f"failed first: {how} {failure.message}".rstrip()
    if end.lost:
        return f"lost: {end.reason or 'the node was started anew'}"
    if end.stopped:
        return "stopped"
    if end.signal:
        return f"launcher killed by {end.signal}"
    return "launcher's code unknown" if end.code is None else f"launcher's code {end.code}"


class RankTable(RowTable):
    """Rows are kept by rank and changed cell by cell."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Context.RANKS)

    class Picked(Message):
        """Space or Enter on a rank."""

        def __init__(self, rank: int, alone: bool) -> None:
            super().__init__()
            self.rank = rank
            self.alone = alone
            """Enter: go to its log and show no other."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[int, RankRow] = {}
        self._picked: frozenset[int | None] | None = None

    def on_mount(self) -> None:
        self.add_column(" ", key="mark")
        for field in fields(RankRow):
            self.add_column(field.name.upper(), key=field.name)

    def show(self, cluster: Cluster, job: Job, picked: frozenset[int | None] | None) -> None:
        rows = rank_rows(cluster, job)
        if rows.keys() != self._shown.keys():
            self.clear()
            for rank, row in rows.items():
                cells = [Text(getattr(row, field.name)) for field in fields(RankRow)]
                self.add_row(self._mark(rank, picked), *cells, key=str(rank))
        for rank, row in rows.items():
            self._update(rank, row, picked)
        self._shown, self._picked = rows, picked

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self._pick(alone=True)

    def action_pick(self) -> None:
        self._pick(alone=False)

    def _pick(self, alone: bool) -> None:
        ranks = list(self._shown)
        if 0 <= self.cursor_row < len(ranks):
            self.post_message(self.Picked(ranks[self.cursor_row], alone))

    def _update(self, rank: int, row: RankRow, picked: frozenset[int | None] | None) -> None:
        old = self._shown.get(rank)
        for field in fields(RankRow):
            value = getattr(row, field.name)
            if old is not None and value != getattr(old, field.name):
                self.update_cell(str(rank), field.name, Text(value), update_width=True)
        if picked != self._picked:
            self.update_cell(str(rank), "mark", self._mark(rank, picked))

    def _mark(self, rank: int, picked: frozenset[int | None] | None) -> Text:
        return Text("✓" if picked is not None and rank in picked else " ")
