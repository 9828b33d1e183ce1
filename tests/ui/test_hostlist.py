"""Names of nodes in the brackets that Slurm users read."""

from __future__ import annotations

import pytest

from cockpit.ui.hostlist import folded


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["gpu1"], "gpu1"),
        (["gpu1", "gpu2", "gpu3"], "gpu[1-3]"),
        (["gpu1", "gpu2", "gpu7"], "gpu[1-2,7]"),
        (["gpu08", "gpu09", "gpu10"], "gpu[08-10]"),
        (["gpu9", "gpu10"], "gpu[9-10]"),
        (["head", "a1", "b1", "b2"], "head,a1,b[1-2]"),
        (["gpu2", "gpu1"], "gpu[2,1]"),
        (["节点一", "节点一2", "节点一3"], "节点一,节点一[2-3]"),
    ],
)
def test_neighbours_share_a_bracket(names: list[str], words: str) -> None:
    assert folded(names) == words
