"""A stage for stories: a lab whose nodes are up, events in, orders out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from cockpit.core import events as e
from cockpit.core.cluster import Cluster, Gpu, LinkState, Moment, Node, NodeFacts, Reading
from cockpit.core.effects import Effect, Note, Prepare
from cockpit.core.jobs import Exit, Failure, Job
from cockpit.core.request import Request
from cockpit.core.step import step

_E = TypeVar("_E")


def gpus(node: str, count: int) -> tuple[Gpu, ...]:
    return tuple(Gpu(f"GPU-{node}-{index}", index) for index in range(count))


def lab(*names: str, units: int = 2, slots: bool = False) -> Cluster:
    """Every node up and read, with `units` GPUs (or CPU slots) each."""
    nodes = {}
    for at, name in enumerate(names, 1):
        facts = NodeFacts(name, "me", state_root="/state", address=f"10.0.0.{at}", interface="eth0")
        reading = Reading(
            1, gpus=() if slots else gpus(name, units), slots=units if slots else None
        )
        nodes[name] = Node(name, link=LinkState.UP, facts=facts, reading=reading)
    return Cluster(nodes=nodes, now=Moment(1000.0, 100.0))


def asked(
    number: int = 1, nodes: int = 1, gpus: int = 1, argv: Iterable[str] = ("train.py",)
) -> Request:
    return Request(f"RUN{number}", tuple(argv), f"job{number}", "me", nodes, gpus, "/work")


class Play:
    """Folds events one after the other and remembers what was ordered since the last look."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.orders: list[Effect] = []
        self.notes: list[str] = []

    @property
    def now(self) -> Moment:
        return self.cluster.now

    def job(self, number: int = 1) -> Job:
        return self.cluster.jobs[number]

    def happen(self, *events: e.Event) -> None:
        for event in events:
            self.cluster, effects = step(self.cluster, event)
            self.orders += [effect for effect in effects if not isinstance(effect, Note)]
            self.notes += [effect.text for effect in effects if isinstance(effect, Note)]

    def take(self, kind: type[_E]) -> list[_E]:
        """The orders since the last look, which must all be of one kind."""
        taken, self.orders = self.orders, []
        assert all(isinstance(order, kind) for order in taken), taken
        return [order for order in taken if isinstance(order, kind)]

    def submit(self, request: Request, number: int | None = None) -> None:
        number = number or int(request.run.removeprefix("RUN"))
        self.happen(e.JobSubmitted(number, self.now, request, self.now.wall))

    def of(self, node: str, number: int = 1) -> e.Try:
        job = self.job(number)
        return e.Try(job.run, job.attempt, job.claim, node)

    def prepare_all(self, number: int = 1) -> None:
        for node in self.job(number).nodes:
            self.happen(e.Prepared(self.of(node, number), 29555))

    def start_all(self, number: int = 1) -> None:
        """From configuring to running."""
        self.prepare_all(number)
        for node in self.job(number).nodes:
            self.happen(e.Started(self.of(node, number), self.now))
        self.orders.clear()

    def run(self, request: Request) -> None:
        self.submit(request)
        self.start_all(int(request.run.removeprefix("RUN")))

    def see(self, node: str, state: str, exit: Exit | None = None, attempt: int = 0) -> None:  # noqa: A002 - the word of the protocol
        report = e.Report(self.job().run, attempt or self.job().attempt, state, exit=exit)
        self.happen(e.RunSeen(node, self.now, report))

    def list_runs(self, node: str, *reports: e.Report) -> None:
        self.happen(e.RunsListed(node, self.now, reports))

    def cut(self, node: str, link: LinkState = LinkState.UNREACHABLE) -> None:
        self.happen(e.LinkChanged(node, self.now, link, error="no answer"))

    def heal(self, node: str) -> None:
        self.happen(e.LinkChanged(node, self.now, LinkState.UP))

    def wait(self, seconds: float) -> None:
        later = Moment(self.now.wall + seconds, self.now.mono + seconds)
        self.happen(e.Ticked(later))

    def read(self, node: str, reading: Reading) -> None:
        self.happen(e.ReadingArrived(node, self.now, reading))

    def undo_all(self, number: int = 1) -> None:
        for node in self.job(number).nodes:
            self.happen(e.Undone(self.of(node, number), self.now))


FINE = Exit(0)
STOPPED = Exit(None, stopped=True, reason="stopped: told to")


def failed(rank: int, code: int | None = 1, signal: str | None = None) -> Exit:
    words = f"was ended by {signal}" if signal else f"exited with code {code}"
    return Exit(code, failure=Failure(rank, code, signal, f"rank {rank} {words}"))


def specs(orders: Iterable[Prepare]) -> dict[str, int]:
    """Node -> its rank."""
    return {order.of.node: order.spec["node_rank"] for order in orders}


def without(cluster: Cluster, *names: str) -> Cluster:
    """The lab with some nodes not answering."""
    down = {
        name: replace(cluster.nodes[name], link=LinkState.UNREACHABLE, changed=cluster.now)
        for name in names
    }
    return replace(cluster, nodes={**cluster.nodes, **down})
