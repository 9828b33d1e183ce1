"""What this machine lacks for a kind of test, in words."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping

_TOOLS = ("ip", "tc", "nft", "nsenter", "unshare", "ssh", "ssh-keygen", "sshd")
_TRIAL = """\
nft add table bridge trial &&
mount -t tmpfs tmpfs /tmp && mkdir /tmp/upper /tmp/work &&
mount -t overlay -o lowerdir=/usr/local,upperdir=/tmp/upper,workdir=/tmp/work overlay /usr/local
"""
_SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def why_no_cluster() -> str | None:
    """Why no lab of nodes can run here; None if one can."""
    if sys.platform != "linux":
        return "its nodes are Linux namespaces; run it on Linux."
    if os.geteuid() != 0:
        return "its nodes need root for their namespaces; run it as root."
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=_SBIN) is None]
    if missing:
        packages = "openssh-server openssh-client iproute2 nftables util-linux"
        return f"{', '.join(missing)} not found; install {packages}."
    isolate = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc"]
    tried = subprocess.run(
        [*isolate, "sh", "-c", _TRIAL], check=False, capture_output=True, text=True
    )
    if tried.returncode != 0:
        return f"namespaces are refused ({tried.stderr.strip()}); run it in a privileged container."
    return None


def why_no_torch() -> str | None:
    found = importlib.util.find_spec("torch") is not None
    return None if found else "torch is not installed; `pip install -e .[trainer]` brings it."


def why_no_terminal() -> str | None:
    found = shutil.which("tmux") is not None
    return None if found else "tmux is not found; install tmux."


WHY_NOT: Mapping[str, Callable[[], str | None]] = {
    "cluster": why_no_cluster,
    "torch": why_no_torch,
    "terminal": why_no_terminal,
}
"""For each marker of pytest that needs something of the machine."""
