"""One run's whole story in a process of its own: `story.py AGENT.pyz DIRECTORY`.

Any Python that a node may have can tell it, from the file that a node gets.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(archive: str, directory: str) -> None:
    # This test's own modules last: the agent must come from the archive.
    here = str(Path(__file__).resolve().parents[2])
    sys.path[:0] = [archive]
    sys.path.append(here)
    os.environ["COCKPIT_NODE_LOCKS"] = os.path.join(directory, "locks")

    import cockpit_node
    from cockpit_node import runs
    from tests.node.rig import Rig, until

    assert str(cockpit_node.__file__).startswith(archive), cockpit_node.__file__
    rig = Rig(Path(directory))
    words = "trap 'echo saved; exit 5' USR1; setsid sleep 600 & echo $PYTHONPATH; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words], units=["slot-0"], setup="true"))
    until("it is ready", lambda: rig.stream(paths, "0.stdout"))
    rig.state(paths, "confirmed")
    runs.signal_ranks(rig.node, paths.run, paths.attempt, "SIGUSR1")
    end = rig.ended(paths)
    assert (end["code"], end["leftovers"], rig.marked()) == (5, 0, []), end
    assert Path(paths.supervisor_log).read_text() == ""
    sys.stdout.write(rig.stream(paths, "0.stdout"))


if __name__ == "__main__":
    main(*sys.argv[1:])
