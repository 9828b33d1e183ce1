"""Typed commands, in all the ways in which people type them."""

from __future__ import annotations

import shlex

import pytest

from cockpit.core.command import Command, parse, replaced, shape
from cockpit.core.request import BadRequest


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("train.py --lr 3e-4", Command(("train.py", "--lr", "3e-4"), False, None, "train.py")),
        ("./run.sh a", Command(("./run.sh", "a"), False, None, "./run.sh")),
        ("nvidia-smi -L", Command(("nvidia-smi", "-L"), False)),
        ("-m pkg.train x", Command(("-m", "pkg.train", "x"), False)),
        ("python train.py", Command(("train.py",), False, "python", "train.py")),
        ("python -u train.py -O", Command(("train.py", "-O"), False, "python", "train.py")),
        ("/opt/bin/python3.11 t.py", Command(("t.py",), False, "/opt/bin/python3.11", "t.py")),
        ("python -m pkg.train", Command(("-m", "pkg.train"), False, "python")),
        ("python -mpkg.train a", Command(("-m", "pkg.train", "a"), False, "python")),
        ("python -c 'print(1)'", Command(("python", "-c", "print(1)"), False)),
        ("python -X dev t.py", Command(("python", "-X", "dev", "t.py"), False, None, "t.py")),
        ("python -W error -O -m a", Command(("python", "-W", "error", "-O", "-m", "a"), False)),
        ("python -", Command(("python", "-"), False)),
    ],
)
def test_a_command_that_is_no_torchrun_stays_as_it_was_typed(typed: str, expected: Command) -> None:
    assert parse(shlex.split(typed)) == expected


@pytest.mark.parametrize(
    "spelling",
    [
        "--nproc_per_node=4", "--nproc-per-node 4", "--nproc_per_node 4", "--nproc-per-node=4",
        "--nproc 4", "-r 3 --nproc-per-node=4", "-r3 --nproc-per-node 4", "-r=3 -t 1 --nproc=4",
        "--standalone --nproc-per-node=4", "--master_port 29500 --nproc-per-node 4",
        "--nnodes=1 --rdzv_backend c10d --rdzv-endpoint=h:1 --rdzv_id 7 --nproc-per-node 4",
        "--max-restarts=3 --log_dir /tmp/x --tee 3 --redirects=1 --nproc-per-node 4",
        "--rdzv-conf is_host=1 --local-addr 1.2.3.4 --master-addr=h --node_rank 0 --nproc=4",
    ],
)  # fmt: skip
def test_torchruns_own_topology_is_taken_out_in_every_spelling(spelling: str) -> None:
    argv = ["torchrun", *spelling.split(), "train.py", "--nproc-per-node=9", "-r", "x"]
    command = parse(argv)
    assert command.target == ("train.py", "--nproc-per-node=9", "-r", "x")
    assert command.options == ()
    assert command.script == "train.py"
    assert shape(argv, None, None)[1] == 4


@pytest.mark.parametrize(
    ("typed", "python"),
    [
        ("torchrun", None),
        ("/venv/bin/torchrun", None),
        ("python3 -m torch.distributed.run", "python3"),
        ("python -u -m torch.distributed.run", "python"),
        ("python -mtorch.distributed.run", "python"),
        ("-m torch.distributed.run", None),
        ("python -m torch.distributed.launch", "python"),
    ],
)
def test_torchrun_is_known_by_all_its_names(typed: str, python: str | None) -> None:
    command = parse([*typed.split(), "--nnodes=2", "train.py"])
    assert (command.torchrun, command.python, command.target) == (True, python, ("train.py",))
    assert command.topology == {"nnodes": "2"}


@pytest.mark.parametrize(
    ("typed", "options", "target"),
    [
        ("--role x t.py", ("--role=x",), ("t.py",)),
        ("--monitor_interval=1 t.py", ("--monitor-interval=1",), ("t.py",)),
        ("--no_python ./run.sh a", ("--no-python",), ("./run.sh", "a")),
        ("--run-path t.py", ("--run-path",), ("t.py",)),
        ("-m pkg.train a", (), ("-m", "pkg.train", "a")),
        ("--module --role x pkg.train", ("--role=x",), ("-m", "pkg.train")),
        ("-- -odd.py", (), ("-odd.py",)),
        ("--future-option=1 t.py", ("--future-option=1",), ("t.py",)),
    ],
)
def test_what_does_not_concern_the_topology_stays(
    typed: str, options: tuple[str, ...], target: tuple[str, ...]
) -> None:
    command = parse(["torchrun", "--nnodes", "1", *typed.split()])
    assert (command.options, command.target) == (options, target)


@pytest.mark.parametrize(
    ("typed", "cure"),
    [
        ("", "after `--`"),
        ("-m", "name of a module"),
        ("--lr 1", "script or a program"),
        ("python", "a script or `-m module`"),
        ("python -u", "a script or `-m module`"),
        ("python -m", "a script or `-m module`"),
        ("torchrun", "a script or `-m module`"),
        ("torchrun --nnodes 2", "a script or `-m module`"),
        ("torchrun -m", "a script or `-m module`"),
        ("torchrun --nnodes", "a script or `-m module`"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_cure(typed: str, cure: str) -> None:
    with pytest.raises(BadRequest, match=cure):
        parse(typed.split())


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("torchrun --nnodes=4 --nproc-per-node=8 t.py", (4, 8)),
        ("torchrun --nproc-per-node=8 t.py", (1, 8)),
        ("python t.py --nnodes=4", (1, 1)),
    ],
)
def test_the_shape_that_was_typed(typed: str, found: tuple[int, int]) -> None:
    assert shape(typed.split(), None, None) == found


def test_what_is_asked_for_wins_over_what_was_typed() -> None:
    assert shape(["torchrun", "--nnodes=1:4", "--nproc-per-node=gpu", "t.py"], 2, 4) == (2, 4)


@pytest.mark.parametrize(
    "option", ["--nproc-per-node=gpu", "--nproc_per_node auto", "--nnodes=1:4"]
)
def test_a_shape_that_torchrun_was_to_find_out_must_be_said(option: str) -> None:
    with pytest.raises(BadRequest, match="say it, as in --"):
        shape(["torchrun", *option.split(), "t.py"], None, None)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("torchrun --nproc-per-node 8 x.py", ["typed --nproc-per-node 8 is replaced by -G 1"]),
        ("torchrun --nnodes=2 --nproc-per-node=1 x.py", []),
        ("torchrun --standalone --nnodes 1:4 x.py", ["typed --nnodes 1:4 is replaced by -N 2"]),
        (
            "torchrun --max-restarts=3 x.py",
            ["typed --max-restarts 3 is left out: the cockpit sets its own"],
        ),
        ("python x.py --nproc-per-node 8", []),
    ],
)
def test_what_of_a_typed_topology_does_not_hold_is_said(typed: str, words: list[str]) -> None:
    assert replaced(typed.split(), 2, 1) == words
