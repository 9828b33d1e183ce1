"""What the nodes and the ranks tell: links, readings, runs, metrics; and what time alone decides."""

from __future__ import annotations

from dataclasses import replace

from cockpit.core.cluster import AWAY, Cluster, LinkState, Node
from cockpit.core.effects import Confirm, Effect, Note, Stop
from cockpit.core.events import (
    CheckpointLogged,
    LinkChanged,
    MetricsLogged,
    PhaseLogged,
    ReadingArrived,
    Report,
    RunSeen,
    RunsListed,
    Started,
    Ticked,
)
from cockpit.core.jobs import Exit, Job, JobState, Part, PartState
from cockpit.core.moves import (
    TEARDOWN_GRACE_S,
    end_part,
    endings,
    find,
    forsake,
    settle,
    try_of,
    with_job,
    with_part,
)
from cockpit.core.ordering import look_up_again, retry_lookups
from cockpit.core.starting import started
from cockpit.core.trouble import with_trouble

MAX_NAMES = 200
"""Names of metrics that a job's row keeps, first come; the store keeps them all."""
LOST_AFTER_S = 600.0
"""Seconds without an answer until a gang's node counts as lost, if all its other nodes are empty."""
UNDONE_AFTER_S = 120.0
"""Seconds without an answer until a start that was never confirmed has undone itself there."""
_LIVE = frozenset({"prepared", "started", "confirmed", "stopping", "unsupervised"})
_STARTED = frozenset({"started", "confirmed", "ended"})
"""What a run says of itself only after its go, so that the answer to go may get lost."""
_NO_RECORD = (
    "it left no exit record and nothing of it lives: the node was started anew, "
    "or its keeper was killed"
)

Outcome = tuple[Cluster, list[Effect]]


def link_changed(cluster: Cluster, event: LinkChanged) -> Outcome:
    node = cluster.nodes.get(event.node)
    if node is None:
        return cluster, []
    if event.link is LinkState.CONNECTING and node.link in AWAY:
        again = replace(node, phase=event.phase, retry_in_s=None)
        return replace(cluster, nodes={**cluster.nodes, node.name: again}), []
    same = node.link is event.link or {node.link, event.link} <= AWAY
    changed = node.changed if same else event.at
    after = replace(
        node,
        link=event.link,
        phase=event.phase,
        error=event.error,
        retry_in_s=event.retry_in_s,
        facts=event.facts or node.facts,
        changed=changed,
    )
    notes: list[Effect] = []
    if node.link is not event.link and event.link is not LinkState.CONNECTING:
        words = f": {event.error}" if event.error else ""
        notes = [Note(None, f"{node.name} is {event.link}{words}")]
    return replace(cluster, nodes={**cluster.nodes, node.name: after}), notes


def reading_arrived(cluster: Cluster, event: ReadingArrived) -> Outcome:
    node = cluster.nodes.get(event.node)
    if node is None:
        return cluster, []
    first = node.reading is None or not node.is_up
    most = max(node.most_gpus, len(event.reading.gpus))
    node = replace(node, reading=event.reading, read_at=event.at, most_gpus=most)
    cluster = replace(cluster, nodes={**cluster.nodes, node.name: node})
    return retry_lookups(cluster, node.name) if first else (cluster, [])


def runs_listed(cluster: Cluster, event: RunsListed) -> Outcome:
    """After a link came up: every run is looked at, what was missed is told again."""
    effects: list[Effect] = []
    for report in event.reports:
        cluster, more = run_seen(cluster, RunSeen(event.node, event.at, report))
        effects += more
    for job in cluster.roster.holders():
        part = job.part(event.node)
        if part is None or part.state is PartState.ENDED:
            continue
        if part.state is PartState.STARTED and event.proves_absent(job.run, job.attempt):
            how = Exit(None, lost=True, reason="nothing of the run is left there")
            cluster, more = settle(cluster, end_part(job, event.node, how))
            effects += more
        elif job.state is JobState.COMPLETING:
            effects += endings(job, event.node)
    cluster, more = retry_lookups(cluster, event.node)
    return cluster, [*effects, *more]


def run_seen(cluster: Cluster, event: RunSeen) -> Outcome:
    report = event.report
    job = find(cluster, report.run, report.attempt)
    part = job.part(event.node) if job else None
    if job is None or part is None or part.state is PartState.ENDED or not job.state.holds_units:
        return cluster, _stray(cluster, event.node, report)
    if (told := _told(part, report)) != part:
        cluster = with_job(cluster, with_part(job, told))
    effects: list[Effect] = []
    if report.state in _STARTED and job.gone and part.state is PartState.PREPARED:
        cluster, effects = started(cluster, Started(try_of(job, event.node), event.at))
    elif report.state == "started" and job.state is JobState.RUNNING:
        effects = [Confirm(try_of(job, event.node))]
    job = cluster.jobs[job.id]
    how = _ending(job, event.node, report)
    if how is None:
        seen = with_trouble(cluster, job)
        return cluster if seen is job else with_job(cluster, seen), effects
    cluster, more = settle(cluster, end_part(job, event.node, how))
    return cluster, [*effects, *more]


def _told(part: Part, report: Report) -> Part:
    return replace(
        part,
        streams=report.streams or part.streams,
        pids=dict(report.pids) or part.pids,
        unsupervised=report.state == "unsupervised",
        doubt=(report.message or "it gives no reason") if report.state == "unknown" else "",
    )


def _ending(job: Job, node: str, report: Report) -> Exit | None:
    """How the run ended there, if it did; before go, only an answer to its abort proves anything."""
    if report.state == "ended" and job.gone:
        return report.exit or Exit(None, reason="its exit record cannot be read")
    part = job.part(node)
    if report.state == "lost" and part is not None and part.state is PartState.STARTED:
        told = report.exit.reason if report.exit else ""
        return Exit(None, lost=True, reason=told or report.message or _NO_RECORD)
    return None


def _stray(cluster: Cluster, node: str, report: Report) -> list[Effect]:
    """A run of ours that should not live any more, back with its node: it is stopped first."""
    job = find(cluster, report.run)
    if job is None or report.state not in _LIVE or report.attempt > job.spent:
        return []
    reason = "left over from an attempt that is over"
    return [Stop(report.run, report.attempt, node, TEARDOWN_GRACE_S, reason)]


def ticked(cluster: Cluster, event: Ticked) -> Outcome:
    """Only silence is decided here, and only where nothing else can prove anything."""
    cluster, effects = look_up_again(cluster)
    for job in cluster.roster.holders():
        if job.state is JobState.CONFIGURING:
            continue
        after = job
        for part in job.parts:
            if part.state is not PartState.ENDED and _is_lost(cluster, job, part.node):
                how = Exit(None, lost=job.started is not None, reason="no answer for too long")
                after = forsake(after, part.node, how)
        if after is not job:
            cluster, more = settle(cluster, after)
            effects += more
        elif (told := with_trouble(cluster, job)) is not job:
            cluster = with_job(cluster, told)
    return cluster, effects


def _is_lost(cluster: Cluster, job: Job, name: str) -> bool:
    """Architecture: a lone node is never lost by time; a gang's only once all others are empty."""
    node = cluster.nodes.get(name) or Node(name, link=LinkState.UNREACHABLE, changed=cluster.began)
    if node.link is LinkState.UP:
        return False
    silent_s = cluster.now.mono - node.changed.mono
    if node.link is LinkState.CONNECTING and node.facts is None and job.started is not None:
        return False
    if job.started is None:
        return silent_s >= UNDONE_AFTER_S
    others_empty = all(p.state is PartState.ENDED for p in job.parts if p.node != name)
    return len(job.parts) > 1 and others_empty and silent_s >= LOST_AFTER_S


def metrics_logged(cluster: Cluster, event: MetricsLogged) -> Outcome:
    job = find(cluster, event.run, event.attempt)
    if job is None:
        return cluster, []
    room = MAX_NAMES - len(job.values)
    fresh = [name for name in event.values if name not in job.values][:room]
    kept = {*job.values, *fresh}
    values = {**job.values, **{n: v for n, v in event.values.items() if n in kept}}
    phase = "" if job.state is JobState.RUNNING else job.phase
    return with_job(cluster, replace(job, step=event.step, values=values, phase=phase)), []


def checkpoint_logged(cluster: Cluster, event: CheckpointLogged) -> Outcome:
    job = find(cluster, event.run, event.attempt)
    if job is None:
        return cluster, []
    note = Note(job.id, f"checkpoint at step {event.checkpoint.step}")
    return with_job(cluster, replace(job, checkpoint=event.checkpoint)), [note]


def phase_logged(cluster: Cluster, event: PhaseLogged) -> Outcome:
    job = find(cluster, event.run, event.attempt)
    if job is None or job.state is not JobState.RUNNING:
        return cluster, []
    return with_job(cluster, replace(job, phase=event.phase)), []
