"""A placed job into what each node is told: argv, environment, files. Data only; also the preview."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cockpit.core.allocate import sketch
from cockpit.core.cluster import Cluster, Defaults, Node, NodeFacts
from cockpit.core.command import Command, parse
from cockpit.core.jobs import Checkpoint, Job, JobState, Part
from cockpit.core.request import BadRequest, Request, is_path
from cockpit.core.secrets import redacted
from cockpit.core.text import visible

PORT = "<chosen at start>"
"""Stands for the port, which node rank 0 picks when it prepares."""
SPEC_VERSION = 1
CONFIRM_S = 60
"""Seconds a supervisor runs without being told that all its peers started."""


@dataclass(frozen=True, slots=True)
class _Site:
    """One part of a job and the node it stands on."""

    part: Part
    facts: NodeFacts
    defaults: Defaults
    real_gpus: bool


def spec(cluster: Cluster, job: Job, part: Part) -> dict[str, Any]:
    """What one node is told, as docs/protocol.md lists it. Raises BadRequest."""
    request = job.request
    command = parse(request.argv)
    site = _site(_node(cluster, part), part)
    first = _site(_node(cluster, job.parts[0]), job.parts[0])
    torchrun = command.torchrun or job.ranks > 1
    argv = _torchrun(job, site, first, command) if torchrun else _plain(request, site, command)
    return {
        "version": SPEC_VERSION,
        "run": request.run,
        "attempt": job.attempt,
        "claim": job.claim,
        "node": part.node,
        "node_rank": part.node_rank,
        "nnodes": request.nodes,
        "nproc": request.gpus,
        "name": request.name,
        "user": request.user,
        "launcher": "torchrun" if torchrun else "plain",
        "argv": argv,
        "port_at": argv.index("--master-port") + 1 if torchrun else None,
        "setup": "\n".join(_setup(request, site)),
        "env": _env(job, site, torchrun),
        "workdir": _workdir(request, site),
        "script": command.script,
        "program": argv[0],
        "units": list(part.units),
        "cuda_devices": ",".join(map(str, part.indices)) if site.real_gpus else "",
        "checkpoint_dir": request.checkpoint_dir,
        "resume": _resume(job.resume),
        "grace_s": request.grace_s,
        "confirm_s": CONFIRM_S,
    }


def _node(cluster: Cluster, part: Part) -> Node:
    """Also one that left the inventory since."""
    return cluster.nodes.get(part.node) or Node(part.node)


def _site(node: Node, part: Part) -> _Site:
    gpus = {unit.id: unit.gpu for unit in node.units}
    mine = [gpus.get(unit) for unit in part.units]
    real = bool(mine) and all(gpu is not None and not gpu.simulated for gpu in mine)
    return _Site(part, node.facts or NodeFacts(), node.defaults, real)


def _workdir(request: Request, site: _Site) -> str:
    return request.workdir or site.defaults.workdir or request.submitted_from or "/"


def _python(request: Request, site: _Site, command: Command) -> str:
    if request.venv:
        return command.python or "python"
    return request.python or command.python or site.defaults.python or "python3"


def _plain(request: Request, site: _Site, command: Command) -> list[str]:
    first = command.target[0]
    if command.python is not None or first == "-m" or first.endswith(".py"):
        return [_python(request, site, command), *command.target]
    return list(command.target)


def _torchrun(job: Job, site: _Site, first: _Site, command: Command) -> list[str]:
    """Static rendezvous with everything said: nothing is left to a host name (it may not resolve)."""
    request = job.request
    alone = request.nodes == 1
    target = command.target
    if target[0] == "-m" or "--no-python" in command.options:
        switch: list[str] = []
    else:
        switch = [] if target[0].endswith(".py") or command.torchrun else ["--no-python"]
    return [
        _python(request, site, command),
        "-m",
        "torch.distributed.run",
        f"--nnodes={request.nodes}",
        f"--nproc-per-node={request.gpus}",
        f"--node-rank={site.part.node_rank}",
        "--rdzv-backend=static",
        f"--rdzv-id={request.run}-{job.attempt}",
        f"--master-addr={'127.0.0.1' if alone else first.facts.address}",
        "--master-port",
        PORT,
        f"--local-addr={'127.0.0.1' if alone else site.facts.address}",
        "--max-restarts=0",
        f"--log-dir={run_directory(job, site.part.node, site.facts)}/log",
        "--redirects=3",
        *command.options,
        *switch,
        *target,
    ]


def run_directory(job: Job, node: str, facts: NodeFacts) -> str:
    """Where a node keeps an attempt (docs/protocol.md, layout 1)."""
    return f"{facts.state_root}/{node}/{job.run}/{job.attempt}"


def _setup(request: Request, site: _Site) -> list[str]:
    lines: list[str] = []
    python = request.python or site.defaults.python
    if request.venv:
        lines.append(f"source {shlex.quote(request.venv)}/bin/activate")
    elif python and python.startswith("/"):
        lines.append(f'export PATH={shlex.quote(python.rpartition("/")[0])}:"$PATH"')
    return [*lines, *request.setup]


def _env(job: Job, site: _Site, torchrun: bool) -> dict[str, str]:
    """Ours first, then the inventory's, then the job's own, which win."""
    env: dict[str, str] = {}
    if torchrun and job.request.nodes > 1 and site.facts.interface:
        env["GLOO_SOCKET_IFNAME"] = site.facts.interface
        if site.defaults.pinned_interface:
            env["NCCL_SOCKET_IFNAME"] = site.facts.interface
    if torchrun and site.real_gpus:
        dump = f"{run_directory(job, site.part.node, site.facts)}/nccl_trace_rank_"
        env |= {
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_FR_BUFFER_SIZE": "2000",
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
            "TORCH_FR_DUMP_TEMP_FILE": dump,
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": dump,
        }
    return {**env, **site.defaults.env, **job.request.env}


def _resume(checkpoint: Checkpoint | None) -> Mapping[str, Any] | None:
    if checkpoint is None:
        return None
    if not is_path(checkpoint.path):
        raise BadRequest(f"{checkpoint.path!r} must be an absolute path on the nodes, on one line")
    return {"path": checkpoint.path, "step": checkpoint.step}


def preview(cluster: Cluster, request: Request) -> list[str]:
    """The exact commands, one node after the other, ready to paste into a shell.

    Where the job cannot be placed now, on the nodes it would get in an empty cluster. Raises BadRequest.
    """
    return commands(cluster, Job(0, request, attempt=1, parts=sketch(cluster, request)))


def preview_restart(cluster: Cluster, job: Job, resume: Checkpoint | None) -> list[str]:
    """The commands of the next attempt of a job, as if what is left of it had ended already."""
    over = cluster.roster.with_job(replace(job, state=JobState.COMPLETED))
    home = job.home if resume else None
    parts = sketch(replace(cluster, jobs=over), job.request, home, job.nodes)
    following = replace(job, attempt=job.attempt + 1, parts=parts, resume=resume)
    return commands(cluster, following)


def commands(cluster: Cluster, job: Job) -> list[str]:
    """What each node is or was told for the attempt that `job.parts` place. Raises BadRequest."""
    lines: list[str] = []
    for part in job.parts:
        told = spec(cluster, job, part)
        ranks = _span(part.node_rank * job.request.gpus, job.request.gpus)
        places = ",".join(map(str, part.indices))
        lines.append(f"# {part.node}: {ranks}, units {places}")
        lines += _shell(told)
    return [visible(line, len(line)) for line in lines]


def _span(first: int, count: int) -> str:
    return f"rank {first}" if count == 1 else f"ranks {first}-{first + count - 1}"


def _shell(told: Mapping[str, Any]) -> list[str]:
    env = {"CUDA_VISIBLE_DEVICES": told["cuda_devices"], **told["env"]}
    if told["resume"]:
        env["COCKPIT_RESUME_FROM"] = told["resume"]["path"]
        env["COCKPIT_RESUME_STEP"] = str(told["resume"]["step"])
    settings = [f"{key}={shlex.quote(redacted(key, value))}" for key, value in env.items()]
    setup = told["setup"].split("\n") if told["setup"] else []
    return [
        f"cd {shlex.quote(told['workdir'])}",
        *setup,
        " ".join([*settings, shlex.join(told["argv"])]),
    ]
