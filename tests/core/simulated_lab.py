"""A lab in memory around the real core: orders and answers wait to be delivered, in any order.

What is on its way may come late, twice, out of order, or get lost with its link; the engine may
end at any moment and start again from the jobs that it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cockpit.core import effects as order
from cockpit.core import events as e
from cockpit.core.cluster import Cluster, LinkState, Moment, Node
from cockpit.core.jobs import Checkpoint, Job, JobState, PartState, Resume
from cockpit.core.request import Request
from cockpit.core.schedule import start_what_fits
from cockpit.core.step import step
from cockpit.engine import hearsay, records
from tests.core.simulated_node import NodeRefusal, SimulatedNode

UNITS = 2
ROUNDS = 400
"""Of five seconds each, in which a healthy lab must come to its end."""


class SimulatedLab:
    def __init__(self, *names: str) -> None:
        self.nodes = {
            name: SimulatedNode(name, [f"SIM-{name}-{n}" for n in range(UNITS)]) for name in names
        }
        self.up: set[str] = set()
        self.cluster = Cluster(nodes={name: Node(name) for name in names}, now=Moment(1e9, 100.0))
        self.mail: list[order.Effect] = []
        """Orders that no node has taken yet."""
        self.news: list[tuple[str, e.Event, order.Effect]] = []
        """(node, answer, what it answers), not yet heard."""
        self.lost: set[str] = set()
        """Runs of which something was called lost, rightly or not."""
        self.act(e.EngineStarted(self.now))
        for name in names:
            self.heal(name)

    @property
    def now(self) -> Moment:
        return self.cluster.now

    def act(self, event: e.Event) -> None:
        """One fact, all rules checked."""
        before = self.cluster.jobs
        self.cluster, effects = step(self.cluster, event)
        self.mail += [effect for effect in effects if not isinstance(effect, order.Note)]
        _check_go(self.cluster.jobs, effects)
        for job in self.cluster.jobs.values():
            if before.get(job.id) is not job:
                self._check(job)
        held = [
            (part.node, unit)
            for job in self.cluster.jobs.values()
            if job.state.holds_units
            for part in job.parts
            for unit in part.units
        ]
        assert len(held) == len(set(held)), "two jobs hold one unit"
        self._check_nodes()
        self._check_queue()

    def _check_queue(self) -> None:
        """Whatever was taken over from the pass before, looking at everything anew starts no more."""
        anew, effects = start_what_fits(replace(self.cluster, outlook=None))
        assert effects == [], "something fits that was not started"
        assert anew.roster.waiting == self.cluster.roster.waiting
        for number in self.cluster.roster.waiting:
            named = self.cluster.jobs[number].reason.partition("Priority: behind job ")[2]
            assert not named or int(named) in self.cluster.roster.waiting, "behind one that left"

    def _check(self, job: Job) -> None:
        assert records.load_job(records.dump_job(job)) == job
        if job.state is JobState.PENDING:
            assert job.reason, "a waiting job does not say why"
            assert job.phase == ""
        if job.state is JobState.RUNNING:
            assert not job.phase.startswith(("preparing", "starting", "undoing"))
        if job.state.is_over:
            assert (job.phase, job.stop_at) == ("", None)
        if job.state in (JobState.FAILED, JobState.NODE_FAIL):
            assert job.reason
            assert job.code not in (0, None)
        if job.state is JobState.RUNNING:
            assert {part.state for part in job.parts} <= {PartState.STARTED, PartState.ENDED}
        if any(part.exit is not None and part.exit.lost for part in job.parts):
            self.lost.add(job.run)

    def _check_nodes(self) -> None:
        """What really runs: each attempt once, and no two attempts of one job beside each other."""
        live: dict[str, set[int]] = {}
        for node in self.nodes.values():
            assert all(count == 1 for count in node.starts.values()), "an attempt started twice"
            for run in node.live():
                if run.state != "prepared":
                    live.setdefault(run.spec["run"], set()).add(run.spec["attempt"])
        assert all(len(attempts) == 1 or run in self.lost for run, attempts in live.items())

    def submit(self, nodes: int, gpus: int) -> None:
        number = len(self.cluster.jobs) + 1
        request = Request(f"RUN{number}", ("train.py",), f"job{number}", "me", nodes, gpus)
        self.act(e.JobSubmitted(number, self.now, request, self.now.wall))

    def cancel(self, number: int, grace_s: int | None, forsake: bool) -> None:
        if number in self.cluster.jobs:
            self.act(e.CancelOrdered(number, self.now, grace_s, forsake))

    def restart(self, number: int, wanted: Resume | Checkpoint) -> None:
        if number in self.cluster.jobs:
            self.act(e.RestartOrdered(number, self.now, wanted))

    def deliver(self, at: int) -> bool:
        """Bring one order to its node, if its link is up; the answer is on its way then."""
        reachable = [effect for effect in self.mail if _node_of(effect) in self.up]
        if not reachable:
            return False
        effect = reachable[at % len(reachable)]
        self.mail.remove(effect)
        name = _node_of(effect)
        answer = _carry_out(self.nodes[name], effect, self.now)
        if answer is not None:
            self.news.append((name, answer, effect))
        return True

    def hear(self, at: int, twice: bool = False) -> bool:
        if not self.news:
            return False
        name, event, effect = self.news.pop(at % len(self.news))
        if twice:
            self.news.append((name, event, effect))
        self.act(event)
        return True

    def hear_push(self, name: str) -> bool:
        """What a node tells by itself comes in its order."""
        node = self.nodes[name]
        if name not in self.up or not node.pushes:
            return False
        report = hearsay.report(node.pushes.pop(0))
        assert report is not None
        self.act(e.RunSeen(name, self.now, report))
        return True

    def cut(self, name: str) -> None:
        """All that is on its way is lost; whether it was carried out nobody knows."""
        if name not in self.up:
            return
        self.up.discard(name)
        self.nodes[name].pushes.clear()
        self.act(e.LinkChanged(name, self.now, LinkState.UNREACHABLE, error="cut"))
        unheard = [effect for node, _, effect in self.news if node == name]
        self.news = [item for item in self.news if item[0] != name]
        unsent = [effect for effect in self.mail if _node_of(effect) == name]
        self.mail = [effect for effect in self.mail if _node_of(effect) != name]
        for effect in [*unheard, *unsent]:
            self._without_answer(effect)

    def _without_answer(self, effect: order.Effect) -> None:
        match effect:
            case order.Prepare(of) | order.Go(of):
                self.act(e.StartRefused(of, self.now, "no answer", retry=True))
            case order.ListCheckpoints(run):
                self.act(e.CheckpointsListed(run, self.now, (), "no answer"))
            case _:
                self.mail.append(effect)

    def heal(self, name: str) -> None:
        if name in self.up:
            return
        node = self.nodes[name]
        self.up.add(name)
        node.pushes.clear()
        told = [hearsay.report(row) for row in node.request("runs", {})["runs"]]
        reports = tuple(report for report in told if report is not None)
        facts = hearsay.facts(node.hello())
        self.act(e.LinkChanged(name, self.now, LinkState.UP, facts=facts))
        self.act(e.RunsListed(name, self.now, reports))
        self.read(name)

    def read(self, name: str) -> None:
        if name in self.up:
            reading = hearsay.reading(self.nodes[name].reading())
            self.act(e.ReadingArrived(name, self.now, reading))

    def restart_engine(self) -> None:
        """The engine ends in the middle of everything; what it wrote is all that is left."""
        jobs = {n: records.load_job(records.dump_job(j)) for n, j in self.cluster.jobs.items()}
        nodes = {name: Node(name) for name in self.nodes}
        self.cluster = replace(self.cluster, jobs=jobs, nodes=nodes)
        self.mail, self.news, self.up = [], [], set()
        self.act(e.EngineStarted(self.now))

    def wait(self, seconds: float) -> None:
        for node in self.nodes.values():
            node.advance(seconds)
        self.act(e.Ticked(Moment(self.now.wall + seconds, self.now.mono + seconds)))

    def end_one(self, name: str, code: int, signal: str | None) -> None:
        """The oldest run of a node ends by itself."""
        runs = [run for run in self.nodes[name].live() if run.state in ("started", "confirmed")]
        if runs:
            self.nodes[name].end(runs[0], code, signal=signal)

    def come_to_an_end(self) -> None:
        """The world is healthy again and every script ends well: so must every job."""
        for _ in range(ROUNDS):
            for name in self.nodes:
                self.heal(name)
                self.read(name)
            while self.deliver(0) or self.hear(0) or any(map(self.hear_push, self.nodes)):
                pass
            live = [run for node in self.nodes.values() for run in node.live()]
            if not live and all(job.state.is_over for job in self.cluster.jobs.values()):
                return
            for name, node in self.nodes.items():
                if any(run.state == "confirmed" for run in node.live()):
                    self.end_one(name, 0, None)
            self.wait(5)
        raise AssertionError(f"these do not end: {self.cluster.jobs}")


def _check_go(jobs: Mapping[int, Job], effects: list[order.Effect]) -> None:
    """A gang is told to go whole or not at all."""
    told = [effect.of for effect in effects if isinstance(effect, order.Go)]
    for run in {of.run for of in told}:
        job = next(job for job in jobs.values() if job.run == run)
        assert {of.node for of in told if of.run == run} == set(job.nodes)
        assert all(part.state is PartState.PREPARED for part in job.parts)


def _node_of(effect: order.Effect) -> str:
    match effect:
        case order.Stop(node=node) | order.ListCheckpoints(node=node):
            return node
        case order.Note():
            raise AssertionError("notes go to no node")
        case _:
            return effect.of.node


def _carry_out(node: SimulatedNode, effect: order.Effect, at: Moment) -> e.Event | None:
    """What cockpit.engine.run does, without its clock."""
    try:
        match effect:
            case order.Prepare(of, spec):
                return e.Prepared(of, node.request("prepare", {"spec": spec})["port"])
            case order.Go(of, port):
                node.request("go", {"run": of.run, "attempt": of.attempt, "port": port})
                return e.Started(of, at)
            case order.Confirm(of):
                node.request("confirm", {"run": of.run, "attempt": of.attempt})
            case order.Abort(of):
                body = {"run": of.run, "attempt": of.attempt, "claim": of.claim}
                node.request("abort", body)
                return e.Undone(of, at)
            case order.Stop(run, attempt, _, grace_s, reason):
                body = {"run": run, "attempt": attempt, "grace_s": grace_s, "reason": reason}
                node.request("stop", body)
            case order.ListCheckpoints(run):
                found = hearsay.complete_checkpoints(node.request("checkpoints", {}))
                return e.CheckpointsListed(run, at, found)
    except NodeRefusal as refusal:
        if isinstance(effect, (order.Prepare, order.Go)):
            return e.StartRefused(effect.of, at, refusal.message, refusal.retry)
    return None
