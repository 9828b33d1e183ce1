"""`python -m tests.cluster --nodes 3`: a lab to play with by hand, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys

from tests.cluster.lab import Lab
from tests.cluster.requirements import why_no_cluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, help="how many (default: 3)")
    parser.add_argument("--shared-home", action="store_true", help="one home for all, as over NFS")
    asked = parser.parse_args()
    if (reason := why_no_cluster()) is not None:
        sys.stderr.write(f"No lab here: {reason}\n")
        return 1
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with Lab.start(asked.nodes, shared_home=asked.shared_home) as lab:
        sys.stdout.write(f"{lab.ssh_config}\n")
        for node in lab.nodes.values():
            sys.stdout.write(f"  ssh -F {lab.ssh_config} {node.name}    # {node.address}\n")
        sys.stdout.write("Ctrl-C ends the lab and removes all of it.\n")
        sys.stdout.flush()
        signal.sigwait(ends)
    return 0


if __name__ == "__main__":
    sys.exit(main())
