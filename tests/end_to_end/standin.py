"""A stand-in for torchrun that starts at once: for stories that start a gang again and again.

It starts the ranks that the cockpit asks torchrun for, with its variables and its log files, and
ends like it. It is written on the nodes as `torch/distributed/run.py`.
"""

from __future__ import annotations

from tests.end_to_end.world import PROJECT, World

PLACE = f"{PROJECT}/standin"
OPTIONS = ("--env", f"PYTHONPATH={PLACE}")
"""For `submit`."""
_RUN = """
import os, subprocess, sys
options, words = {}, sys.argv[1:]
while words and words[0].startswith("--"):
    name, equals, value = words.pop(0)[2:].partition("=")
    options[name] = value if equals else "" if name == "no-python" else words.pop(0)
per_node, node_rank = int(options["nproc-per-node"]), int(options["node-rank"])
ranks = []
for local in range(per_node):
    logs = os.path.join(options["log-dir"], options["rdzv-id"], "attempt_0", str(local))
    os.makedirs(logs)
    env = {
        **os.environ,
        "RANK": str(node_rank * per_node + local),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(int(options["nnodes"]) * per_node),
        "MASTER_ADDR": options["master-addr"],
        "MASTER_PORT": options["master-port"],
    }
    with open(logs + "/stdout.log", "w") as out, open(logs + "/stderr.log", "w") as err:
        argv = words if "no-python" in options else [sys.executable, "-u", *words]
        ranks.append(subprocess.Popen(argv, env=env, stdout=out, stderr=err))
sys.exit(max(abs(rank.wait()) for rank in ranks))
"""


def put(world: World) -> None:
    """Write it on all nodes."""
    world.put("standin/torch/__init__.py", "")
    world.put("standin/torch/distributed/__init__.py", "")
    world.put("standin/torch/distributed/run.py", _RUN)
