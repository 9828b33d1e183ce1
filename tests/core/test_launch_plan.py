"""What nodes are told to run, and what people see of it before."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from cockpit.core.allocate import sketch
from cockpit.core.cluster import Cluster, Defaults, Lease
from cockpit.core.jobs import Checkpoint, Job
from cockpit.core.launch_plan import PORT, preview, preview_restart, spec
from cockpit.core.request import Request
from tests.core.play import Play, asked, lab


def told(request: Request, cluster: Cluster | None = None, rank: int = 0) -> dict[str, Any]:
    cluster = cluster or lab("a", "b")
    parts = sketch(cluster, request)
    return spec(cluster, Job(1, request, attempt=1, tries=1, parts=parts), parts[rank])


def gang(*argv: str) -> Request:
    return asked(nodes=2, gpus=2, argv=argv)


def with_defaults(defaults: Defaults) -> Cluster:
    cluster = lab("a")
    return replace(cluster, nodes={"a": replace(cluster.nodes["a"], defaults=defaults)})


def test_a_gang_meets_at_an_address_and_a_port_and_leaves_nothing_to_names() -> None:
    second = told(gang("train.py", "--lr", "1"), rank=1)
    assert second["argv"] == [
        "python3", "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2",
        "--node-rank=1", "--rdzv-backend=static", "--rdzv-id=RUN1-1", "--master-addr=10.0.0.1",
        "--master-port", PORT, "--local-addr=10.0.0.2", "--max-restarts=0",
        "--log-dir=/state/b/RUN1/1/log", "--redirects=3", "train.py", "--lr", "1",
    ]  # fmt: skip
    assert (second["node_rank"], second["units"]) == (1, ["GPU-b-0", "GPU-b-1"])
    assert (second["launcher"], second["cuda_devices"]) == ("torchrun", "0,1")
    assert second["env"]["GLOO_SOCKET_IFNAME"] == "eth0"


def test_one_process_runs_as_it_was_typed() -> None:
    plain = told(asked(argv=("python", "train.py", "--lr", "1")))
    assert plain["argv"] == ["python", "train.py", "--lr", "1"]
    assert (plain["launcher"], plain["port_at"], plain["script"]) == ("plain", None, "train.py")


def test_one_process_of_a_typed_torchrun_runs_under_torchrun() -> None:
    lone = told(asked(argv=("torchrun", "--nnodes=1", "train.py")))
    assert lone["launcher"] == "torchrun"
    assert "--master-addr=127.0.0.1" in lone["argv"]


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        ("train.py a", ["train.py", "a"]),
        ("python -O train.py", ["--no-python", "python", "-O", "train.py"]),
        ("-m pkg.train", ["-m", "pkg.train"]),
        ("python -u -m pkg.train", ["-m", "pkg.train"]),
        ("./run.sh a", ["--no-python", "./run.sh", "a"]),
        ("torchrun --no_python ./run.sh", ["--no-python", "./run.sh"]),
        ("torchrun --nproc_per_node=8 --role r -r 1 t.py", ["--role=r", "t.py"]),
        ("torchrun t", ["t"]),
    ],
)
def test_every_kind_of_command_runs_under_torchrun(typed: str, end: list[str]) -> None:
    argv = told(gang(*typed.split()))["argv"]
    assert argv[argv.index("--redirects=3") + 1 :] == end
    assert sum(word.startswith("--nproc-per-node") for word in argv) == 1


def test_the_port_is_put_in_its_own_place_whatever_else_was_typed() -> None:
    request = replace(gang("train.py", PORT, "--master-port", PORT), python=PORT)
    for rank in (0, 1):
        plan = told(request, rank=rank)
        at = plan["port_at"]
        assert plan["argv"][at - 1 : at + 1] == ["--master-port", PORT]
        assert plan["argv"][at + 1].startswith("--local-addr")


@pytest.mark.parametrize(
    ("request_", "defaults", "python"),
    [
        (asked(), Defaults(), "python3"),
        (asked(), Defaults(python="/opt/py"), "/opt/py"),
        (asked(argv=("python3.9", "t.py")), Defaults(python="/opt/py"), "python3.9"),
        (replace(asked(argv=("python", "t.py")), python="/my/py"), Defaults(), "/my/py"),
        (replace(asked(), venv="/venv", python="/my/py"), Defaults(), "python"),
    ],
)
def test_whose_python_it_is(request_: Request, defaults: Defaults, python: str) -> None:
    assert told(request_, with_defaults(defaults))["argv"][0] == python


def test_the_job_wins_over_the_inventory_and_the_inventory_over_us() -> None:
    cluster = with_defaults(
        Defaults(workdir="/inventory", env={"A": "inventory", "B": "inventory"})
    )
    request = replace(asked(), workdir=None, submitted_from="/here", env={"A": "job"})
    plan = told(request, cluster)
    assert plan["workdir"] == "/inventory"
    assert plan["env"] == {
        **plan["env"], "A": "job", "B": "inventory"
    }  # fmt: skip
    assert told(replace(request, workdir="/job"), cluster)["workdir"] == "/job"
    assert told(request, lab("a"))["workdir"] == "/here"


def test_slots_and_simulated_gpus_show_no_gpu_to_the_job() -> None:
    assert told(asked(), lab("a", slots=True))["cuda_devices"] == ""


def paste(lines: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", *arguments], input="\n".join(lines), capture_output=True, text=True, check=False
    )


NASTY = (
    "train.py",
    "--name",
    "a b",
    "it's",
    "$HOME",
    "`id`",
    "x;y",
    '"',
    "*",
    "",
    "\\",
    "x" * 9000,
)


@pytest.mark.parametrize("request_", [asked(argv=NASTY), gang(*NASTY)])
def test_the_preview_can_be_pasted(request_: Request) -> None:
    request = replace(request_, env={"A": "b c'd", "HF_TOKEN": "x"}, setup=("module load x",))
    checked = paste(preview(lab("a", "b"), request), "-n")
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_preview_does_what_the_node_does() -> None:
    request = Request("RUN1", ("printf", "%s|", *NASTY), "job", "me", workdir="/", env={"A": "b c"})
    ran = paste(preview(lab("a"), request))
    assert ran.stdout == "".join(f"{word}|" for word in NASTY)


def test_secrets_are_not_shown_and_are_given_to_the_job() -> None:
    secrets = {"HF_TOKEN": "hf_123", "WANDB_API_KEY": "w_456", "DB_PASSWORD": "p_789"}
    request = replace(asked(), env={**secrets, "LR": "1"})
    shown = "\n".join(preview(lab("a"), request))
    assert not any(value in shown for value in secrets.values())
    assert "HF_TOKEN='***'" in shown
    assert told(request, lab("a"))["env"]["HF_TOKEN"] == "hf_123"


def test_hostile_text_in_a_command_cannot_move_the_terminal() -> None:
    shown = preview(lab("a"), asked(argv=("train.py", "\x1b]0;evil\x07", "a\nb")))
    assert not any(ord(char) < 32 for line in shown for char in line)


def test_a_restart_shows_where_it_goes_on() -> None:
    cluster = lab("a", "b")
    job = Job(1, asked(), attempt=2, parts=sketch(cluster, asked()), home="a")
    lines = preview_restart(cluster, job, Checkpoint(40, "/c/step 40"))
    (command,) = [line for line in lines if "train.py" in line]
    words = shlex.split(command)
    assert "COCKPIT_RESUME_FROM=/c/step 40" in words
    assert "COCKPIT_RESUME_STEP=40" in words


def test_a_restart_of_a_running_job_is_shown_on_the_units_that_it_holds() -> None:
    play = Play(lab("a", "b", "c"))
    play.submit(asked(nodes=2, gpus=2))
    play.start_all()
    job = replace(play.job(), home="b", parts=play.job().parts)
    leases = tuple(Lease(unit, job.run, 1, "me", job.name) for unit in job.parts[1].units)
    node = play.cluster.nodes["b"]
    assert node.reading is not None
    leased = replace(node, reading=replace(node.reading, leases=leases))
    cluster = replace(play.cluster, nodes={**play.cluster.nodes, "b": leased}, jobs={1: job})
    lines = preview_restart(cluster, job, Checkpoint(40, "/c/step-40"))
    assert [line for line in lines if line.startswith("#")] == [
        "# b: ranks 0-1, units 0,1",
        "# a: ranks 2-3, units 0,1",
    ]


def test_a_job_that_cannot_be_placed_yet_has_a_preview() -> None:
    shown = preview(lab("a"), gang("train.py"))
    assert shown[0].startswith("# a: ranks 0-1")


def test_paths_with_spaces_stay_one_word() -> None:
    request = replace(asked(), workdir="/my work", venv="/my venv")
    lines = preview(lab("a"), request)
    assert lines[1] == "cd '/my work'"
    assert shlex.split(lines[2]) == ["source", "/my venv/bin/activate"]
    assert os.linesep not in "".join(lines)
