"""A job of several ranks under the real torchrun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cockpit_node import records, runs
from cockpit_node.members import Members
from cockpit_node.processes import process
from cockpit_node.teardown import Teardown
from tests.node.rig import Rig, kill, until

pytestmark = pytest.mark.torch

RANKS = """
import os, signal, time
import torch.distributed as dist

if os.environ["RANK"] == "0":
    signal.signal(signal.SIGUSR1, lambda *_: print("saved", flush=True))
dist.init_process_group("gloo")
print("rank", dist.get_rank(), "of", dist.get_world_size(), flush=True)
dist.barrier()
while True:
    time.sleep(0.05)
"""


def torchrun(rig: Rig, script: str, **fields: Any) -> dict[str, Any]:
    """Two ranks, as the operator's side words it."""
    (rig.work / "ranks.py").write_text(script)
    argv = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=2"]
    argv += ["--node-rank=0", "--rdzv-backend=static", "--rdzv-id=01RUN-1"]
    argv += ["--master-addr=127.0.0.1", "--master-port", "<chosen at start>"]
    argv += ["--max-restarts=0", "--redirects=3", "ranks.py"]
    words: dict[str, Any] = {
        "launcher": "torchrun",
        "nproc": 2,
        "port_at": argv.index("--master-port") + 1,
        "script": "ranks.py",
        "env": {"GLOO_SOCKET_IFNAME": "lo"},
    }
    return rig.spec(argv, **{**words, **fields})


def started(rig: Rig, spec: dict[str, Any]) -> tuple[Any, dict[int, int]]:
    """The run once both ranks have met, and the pid of each."""
    paths = rig.start(spec)

    def met() -> bool:
        return all("of 2" in rig.stream(paths, f"{rank}.stdout") for rank in (0, 1))

    until("both ranks have met", met)
    ranks = {row["rank"]: row["pid"] for row in rig.look(paths)["ranks"]}
    assert sorted(ranks) == [0, 1]
    return paths, ranks


def test_a_killed_rank_is_named_with_its_signal_and_nothing_is_left(rig: Rig) -> None:
    paths, ranks = started(rig, torchrun(rig, RANKS))
    reply = runs.signal_ranks(rig.node, paths.run, paths.attempt, "SIGUSR1")
    assert reply == {"signalled": [0], "without_handler": [1]}
    names = [stream["name"] for stream in rig.look(paths)["streams"]]
    assert names == ["0.stderr", "0.stdout", "1.stderr", "1.stdout", "launcher.0"]
    os.kill(ranks[1], signal.SIGKILL)
    end = rig.ended(paths)
    failure = end["first_failure"]
    assert (failure["rank"], failure["code"], failure["signal"]) == (1, 137, "SIGKILL")
    assert (end["leftovers"], end["stopped"]) == (0, False)
    assert "saved" in rig.stream(paths, "0.stdout")


def test_when_torchrun_itself_is_killed_its_ranks_are_ended(rig: Rig) -> None:
    paths, ranks = started(rig, torchrun(rig, RANKS))
    launcher = records.nested(records.read(paths.supervisor), "launcher")
    assert launcher is not None
    row = process(launcher["pid"])
    assert row is not None
    kill(row.identity)
    end = rig.ended(paths)
    assert (end["signal"], end["leftovers"]) == ("SIGKILL", 0)
    assert "torchrun" in end["reason"]
    assert [pid for pid in ranks.values() if os.path.exists(f"/proc/{pid}")] == []


TEARDOWN = "Sending process {} closing signal SIGTERM"
SOUNDS = [
    "W1130 11:00:00.000000 123 torch/distributed/elastic/multiprocessing/api.py:1010] " + TEARDOWN,
    "WARNING:torch.distributed.elastic.multiprocessing.api:" + TEARDOWN,
    "[2024-01-30 11:00:00,123] torch.distributed.elastic.multiprocessing.api: [WARNING] "
    + TEARDOWN,
]


@pytest.mark.parametrize("line", SOUNDS)
def test_only_torchruns_own_words_about_a_rank_of_the_run_are_a_teardown(
    tmp_path: Path, line: str
) -> None:
    output = tmp_path / "launcher.0"
    with subprocess.Popen(["sleep", "600"], env={"COCKPIT_RUN": "01WORDS/1/gpu1"}) as rank:
        members = Members("01WORDS/1/gpu1")
        until("it is marked", members.scan)
        ours, words = line.format(rank.pid), TEARDOWN.format(rank.pid)
        others = [words, f"[default0]:{ours}", f"closing signal\n{words}", line.format(1)]
        for said in others:
            output.write_text(f"{said}\n")
            assert not Teardown(str(output)).begun(members)
        teardown = Teardown(str(output))
        for piece, begun in ((f"{said}\n", False), (ours[:60], False), (ours[60:] + "\n", True)):
            with output.open("a") as file:
                file.write(piece)
            assert teardown.begun(members) == begun
        told = line.replace("multiprocessing", "agent/server" if "/" in line else "agent.server")
        told = told.replace(TEARDOWN, "Received 15 death signal, shutting down workers")
        output.write_text(f"{told}\n{ours}\n")
        assert not Teardown(str(output)).begun(members)
        rank.kill()
    output.write_text(f"{ours}\n")
    assert not Teardown(str(output)).begun(members)


DEAF = """
import os, signal, time
import torch.distributed as dist

signal.signal(signal.SIGTERM, signal.SIG_IGN)
dist.init_process_group("gloo")
print("rank", dist.get_rank(), "of", dist.get_world_size(), flush=True)
while not (os.path.exists("fail") and dist.get_rank() == 1):
    time.sleep(0.05)
raise ValueError("the loss is gone")
"""


def test_the_peers_of_a_failed_rank_are_not_waited_for(rig: Rig) -> None:
    paths, _ = started(rig, torchrun(rig, DEAF, grace_s=600))
    (rig.work / "fail").touch()
    end = rig.ended(paths)
    failure = end["first_failure"]
    assert (failure["rank"], failure["code"], failure["signal"]) == (1, 1, None)
    assert failure["message"].startswith("rank 1 failed with exit code 1: ")
    assert "ValueError: the loss is gone" in failure["message"]
    assert end["leftovers"] == 0
