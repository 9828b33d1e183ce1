"""`cockpit show`: all about one job."""

from __future__ import annotations

import shlex
import time

import click

from cockpit.build.place import Place
from cockpit.cli.jobs import one_job, open_store, record
from cockpit.cli.say import put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.jobs import Job
from cockpit.core.request import Request
from cockpit.core.secrets import redacted
from cockpit.engine.store import Line


@click.command()
@click.argument("job", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(setting: Setting, job: int, as_json: bool) -> None:
    """Show all about JOB: state, nodes, step, checkpoint, history."""
    place = setting.place()
    with open_store(place) as store:
        found = one_job(place, store, job)
        history = store.history(job, limit=30)
    if as_json:
        put_json(record(found))
        return
    for label, value in _facts(found, _workdir(place, found)):
        put(f"{label:<12}  {value}")
    if history:
        put()
    for line in history:
        put(_dated(line))


def _workdir(place: Place, job: Job) -> str:
    """The job's own, else its first node's in the inventory, else where it was submitted."""
    first = job.home or (job.nodes[0] if job.nodes else place.config.nodes[0].name)
    of_node = {node.name: node.workdir for node in place.config.nodes}.get(first)
    return job.request.workdir or of_node or job.request.submitted_from or ""


def _facts(job: Job, workdir: str) -> list[tuple[str, str]]:
    places = [f"{part.node}:{','.join(map(str, part.indices))}" for part in job.parts]
    facts = [
        ("job", f"{job.id} {job.name}"),
        ("run", job.run),
        ("state", f"{job.state}{f' ({job.reason})' if job.reason else ''}"),
        ("phase", job.phase),
        ("attempt", str(job.attempt)),
        ("nodes", " ".join(places)),
        ("ranks", f"{job.ranks} ({job.request.shape})"),
        ("step", "" if job.step is None else str(job.step)),
        ("figures", "  ".join(f"{name} {value:.4g}" for name, value in job.values.items())),
        (
            "checkpoint",
            f"step {job.checkpoint.step} {job.checkpoint.path}" if job.checkpoint else "",
        ),
        ("resumed from", f"step {job.resume.step} {job.resume.path}" if job.resume else ""),
        ("exit code", "" if job.code is None else str(job.code)),
        ("command", shlex.join(job.request.argv)),
        ("workdir", workdir),
        *_surroundings(job.request),
    ]
    return [(label, value) for label, value in facts if value]


def _surroundings(request: Request) -> list[tuple[str, str]]:
    env = (f"{key}={redacted(key, value)}" for key, value in request.env.items())
    return [
        ("venv", request.venv or ""),
        ("python", request.python or ""),
        ("setup", "; ".join(request.setup)),
        ("env", " ".join(env)),
        ("saves in", request.checkpoint_dir or ""),
        ("grace", f"{request.grace_s} s"),
    ]


def _dated(line: Line) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(line.time))}  {line.text}"
