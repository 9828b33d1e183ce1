"""One event in, the next cluster and the orders out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cockpit.core import events as e
from cockpit.core import ordering, starting, watching
from cockpit.core.cluster import Cluster
from cockpit.core.effects import Effect
from cockpit.core.schedule import start_what_fits

Outcome = tuple[Cluster, list[Effect]]

_HANDLERS: Mapping[type[Any], Callable[[Cluster, Any], Outcome]] = {
    e.EngineStarted: starting.engine_started,
    e.LinkChanged: watching.link_changed,
    e.ReadingArrived: watching.reading_arrived,
    e.RunSeen: watching.run_seen,
    e.RunsListed: watching.runs_listed,
    e.Ticked: watching.ticked,
    e.MetricsLogged: watching.metrics_logged,
    e.CheckpointLogged: watching.checkpoint_logged,
    e.PhaseLogged: watching.phase_logged,
    e.JobSubmitted: ordering.submitted,
    e.CancelOrdered: ordering.cancelled,
    e.RestartOrdered: ordering.restarted,
    e.CheckpointsListed: ordering.checkpoints_listed,
    e.Prepared: starting.prepared,
    e.StartRefused: starting.refused,
    e.Started: starting.started,
    e.Undone: starting.undone,
}
QUIET = (e.MetricsLogged, e.CheckpointLogged, e.PhaseLogged)
"""Events after which nothing new can fit and nothing is lost by a crash, however many come."""


def step(cluster: Cluster, event: e.Event) -> Outcome:
    """Fold one event into the cluster, then start whatever now fits."""
    cluster, effects = fold(cluster, event)
    if isinstance(event, QUIET):
        return cluster, effects
    cluster, starts = start_what_fits(cluster)
    return cluster, [*effects, *starts]


def fold(cluster: Cluster, event: e.Event) -> Outcome:
    """One event alone: where many come at once, `start_what_fits` need follow only the last."""
    at = getattr(event, "at", cluster.now)
    return _HANDLERS[type(event)](replace(cluster, now=at), event)
