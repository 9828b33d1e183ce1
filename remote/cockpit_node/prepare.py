"""Makes a node ready for a run: claimed once, leased, checked; nothing of the job runs yet."""

from __future__ import annotations

import os
import time
from typing import Any, Mapping

from cockpit_node import claim as claims
from cockpit_node import preflight, records, torchrun
from cockpit_node.archive import trainer_path
from cockpit_node.environment import job_environment
from cockpit_node.identity import user_name
from cockpit_node.leases import is_locked
from cockpit_node.node import Node
from cockpit_node.paths import RunPaths, attempts
from cockpit_node.refused import Refused
from cockpit_node.spec import Spec, parse
from cockpit_node.start import start_supervisor
from cockpit_node.states import run_state
from cockpit_node.undo import undo

POLL_S = 0.02
PREPARE_S = 30.0
"""For the supervisor to report; it has only to start and to take locks."""
ORPHANED_S = 2.0
"""A claim that no supervisor has taken up for so long never had one: its agent died."""


def prepare(node: Node, order: Mapping[str, Any]) -> int | None:
    """The port, where this node chooses it. Raises Refused, and then nothing is left here.

    Giving the same order again, at the same time or later, prepares nothing twice.
    """
    record = dict(order)
    spec = parse(record)
    if spec.node != node.name:
        raise Refused("BadSpec", f"this job is for node {spec.node}, this is {node.name}")
    paths = node.paths(spec.run, spec.attempt)
    if not os.path.exists(paths.spec):
        _check(node, spec, paths)
    try:
        is_new = claims.claim(paths, record, node.client, user_name(os.getuid()))
    except OSError as error:
        message = f"{paths.directory} cannot be made ({error.strerror}); free some space there"
        raise Refused("Disk", message, retry=True) from error
    if is_new:
        start_supervisor(paths)
    port = _await_prepared(paths)
    _check_foreign(node, spec, paths)
    return port


def _check(node: Node, spec: Spec, paths: RunPaths) -> None:
    _check_units(node, spec)
    os.makedirs(node.root, mode=0o700, exist_ok=True)
    preflight.check_space(node.root)
    try:
        trainer = trainer_path(node.root)
    except OSError as error:
        message = f"the trainer cannot be written below {node.root}: {error.strerror}"
        raise Refused("Disk", message, retry=True) from error
    preflight.check(spec, job_environment(os.environb, spec, paths, trainer))
    _check_unsupervised(node, spec)


def _check_unsupervised(node: Node, spec: Spec) -> None:
    """A lease dies with its supervisor; the processes may not have."""
    for paths in attempts(node.root, node.name):
        if paths.run == spec.run or records.has_end(paths.exit):
            continue
        state = run_state(paths, node.table(1.0))
        shared = sorted(set(state["units"]) & set(spec.units))
        if state["state"] == "unsupervised" and shared:
            who = f"{state['user']}'s job {state['name']} (run {paths.run})"
            message = f"{who} lost its supervisor but still uses {', '.join(shared)}; stop it first"
            raise Refused("Busy", message, retry=True)


def _await_prepared(paths: RunPaths) -> int | None:
    began = time.monotonic()
    started_again = False
    while True:
        record = records.read_if_whole(paths.supervisor)
        waited_s = time.monotonic() - began
        if record is not None and record.get("state") == "refused":
            claims.tidy(paths)
            refusal = records.nested(record, "refusal")
            code = records.text(refusal, "code") or "Fault"
            retry = refusal is not None and refusal.get("retry") is True
            raise Refused(code, records.text(refusal, "message"), retry)
        if record is not None:
            return records.whole(record, "port")
        if not os.path.exists(paths.spec):
            message = "another order undid this start while it was under way"
            raise Refused("Aborted", message, retry=True)
        if waited_s > ORPHANED_S and not started_again and not is_locked(paths.directory):
            started_again = True
            start_supervisor(paths)
        if waited_s > PREPARE_S:
            words = torchrun.last_line(paths.supervisor_log) or "it said nothing"
            message = f"the supervisor did not start within {PREPARE_S:g} s: {words}"
            raise Refused("Fault", message, retry=True)
        time.sleep(POLL_S)


def _check_foreign(node: Node, spec: Spec, paths: RunPaths) -> None:
    """With the units leased, whoever still computes on one of them is nobody's job here."""
    record = records.read_if_whole(paths.supervisor)
    if node.gpu_processes is None or records.text(record, "state") != "prepared":
        return
    on_gpus = node.gpu_processes()
    for unit in spec.units:
        for row in on_gpus.get(unit) or ():
            run = row.get("run")
            if run in (spec.marker, spec.run):
                continue
            of = f" of run {run}, which nobody supervises" if run else " outside cockpit"
            message = f"{unit} is used by {row.get('user')}'s process {row.get('pid')}{of}"
            undo(node, paths, spec.claim)
            raise Refused("Foreign", f"{message}; it must end first", retry=True)


def _check_units(node: Node, spec: Spec) -> None:
    on_gpus = node.gpu_processes() if node.gpu_processes is not None else {}
    for unit in spec.units:
        if on_gpus and unit not in on_gpus:
            have = ", ".join(sorted(on_gpus))
            raise Refused("NoUnit", f"there is no {unit} on node {node.name}; it has {have}")
