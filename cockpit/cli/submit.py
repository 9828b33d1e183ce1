"""`cockpit submit`: queue a job."""

from __future__ import annotations

import getpass
import os
import time
from pathlib import Path
from typing import Any

import click

from cockpit.cli.jobs import HOW_TO_RUN, has_engine, open_store, warn_of_stale_engine
from cockpit.cli.say import Failure, note, put, put_json
from cockpit.cli.setting import Setting
from cockpit.core.command import default_name, parse, replaced, shape
from cockpit.core.request import BadRequest, Request


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-N", "--nodes", type=click.IntRange(1), help="Nodes.  [default: 1]")
@click.option(
    "-G",
    "--gpus",
    "--gpus-per-node",
    type=click.IntRange(1),
    help="GPUs a node (CPU slots where there are none); one rank on each.  [default: 1]",
)
@click.option("--name", help="Name of the job; by default that of the script.")
@click.option("--env", multiple=True, metavar="K=V", help="Environment variable; repeatable.")
@click.option("--workdir", help="Work directory on the nodes; by default the same as here.")
@click.option("--python", help="Python interpreter on the nodes.")
@click.option("--venv", help="Virtual environment on the nodes, activated first.")
@click.option("--setup", multiple=True, help="Line that bash runs first on the node; repeatable.")
@click.option("--checkpoint-dir", help="Where the script keeps its checkpoints, on the nodes.")
@click.option(
    "--grace", type=click.IntRange(0, 86400), default=30, show_default=True,
    help="Seconds between TERM and KILL when it is cancelled.",
)  # fmt: skip
@click.option("--wait", "wait_for_it", is_flag=True, help="Wait; end with the job's exit code.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def submit(setting: Setting, /, command: tuple[str, ...], **options: Any) -> int:
    """Queue COMMAND: `-- train.py --lr 3e-4`, `-- -m package.train`, `-- python train.py`, ...

    One process runs as typed. More than one runs under torchrun, on all nodes or none.
    """
    from cockpit.build.place import Place

    place: Place = setting.place()
    request = _request(command, options)
    with open_store(place) as store:
        _check_capacity(place, store, request)
        number = store.submit(request.run, time.time(), request)
    if options["as_json"] and not options["wait_for_it"]:
        put_json({"id": number, "run": request.run})
    elif not options["as_json"]:
        put(f"job {number} ({request.name}, {request.shape}) is queued")
    for sentence in replaced(command, request.nodes, request.gpus):
        note(sentence)
    warn_of_stale_engine(place)
    if not has_engine(place):
        note(f"no engine is running, so it waits: {HOW_TO_RUN}")
    if not options["wait_for_it"]:
        return 0
    from cockpit.cli.wait import wait_for

    return wait_for(place, [number], None, options["as_json"])


def _request(command: tuple[str, ...], options: dict[str, Any]) -> Request:
    from cockpit.engine.ids import new_run

    parse(command)
    nodes, gpus = shape(command, options["nodes"], options["gpus"])
    here = os.getcwd()
    workdir = options["workdir"]
    return Request(
        run=new_run(),
        argv=command,
        name=options["name"] or default_name(command),
        user=getpass.getuser(),
        nodes=nodes,
        gpus=gpus,
        workdir=str(Path(here, workdir)) if workdir else None,
        submitted_from=here,
        env=dict(_variable(text) for text in options["env"]),
        python=options["python"],
        venv=_absolute(options["venv"]),
        setup=options["setup"],
        checkpoint_dir=_absolute(options["checkpoint_dir"]),
        grace_s=options["grace"],
    )


def _absolute(path: str | None) -> str | None:
    return str(Path(os.getcwd(), path)) if path else None


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadRequest(f"--env {text}: write NAME=VALUE, as in --env OMP_NUM_THREADS=4")
    return name, value


def _check_capacity(place: Any, store: Any, request: Request) -> None:
    """Refuse what not even the empty cluster has room for, if every node was seen before."""
    from cockpit.core.allocate import never_fits

    rows = {node: (units, kind) for node, units, kind in store.capacity()}
    names = [node.name for node in place.config.nodes]
    if any(name not in rows for name in names):
        return
    sizes = {name: rows[name][0] for name in names}
    if sum(size >= request.gpus for size in sizes.values()) < request.nodes:
        kind = "GPU" if any(rows[name][1] == "gpu" for name in names) else "slot"
        raise Failure(never_fits(request, sizes, kind))
