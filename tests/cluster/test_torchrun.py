"""Real training over two nodes: what everything else in this project is about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.lab import Lab
from tests.cluster.node import LabNode
from tests.cluster.wiring import INTERFACE

pytestmark = [pytest.mark.cluster, pytest.mark.torch]

MASTER_PORT = 29511


def start_torchrun(lab: Lab, node: LabNode, node_rank: int) -> subprocess.Popen[str]:
    command = (
        f"COCKPIT_RUN=01TRAIN/1/{node.name} GLOO_SOCKET_IFNAME={INTERFACE} OMP_NUM_THREADS=1"
        f" exec {sys.executable} -m torch.distributed.run --nnodes=2 --nproc-per-node=1"
        f" --node-rank={node_rank} --master-addr={lab.nodes['gpu1'].address}"
        f" --master-port={MASTER_PORT} --local-addr={node.address} --max-restarts=0"
        f" {Path(__file__).with_name('tiny_training.py')}"
    )
    argv = ["ssh", "-F", str(lab.ssh_config), node.name, command]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def test_torchrun_trains_over_two_nodes_whose_names_do_not_resolve(lab: Lab) -> None:
    with (
        start_torchrun(lab, lab.nodes["gpu1"], 0) as first,
        start_torchrun(lab, lab.nodes["gpu2"], 1) as second,
    ):
        for rank, run in enumerate((first, second)):
            printed, complained = run.communicate(timeout=120)
            assert run.returncode == 0, complained
            assert printed == f"rank {rank} of 2: weight 3.000\n"
