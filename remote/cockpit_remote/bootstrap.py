"""Starts the agent on a node over a plain shell: find Python, ship what is missing."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Callable

from cockpit.config import NodeConfig
from cockpit_remote import bundle
from cockpit_remote.channel import Channel
from cockpit_remote.failures import LinkFailed

MAX_NOISE = 64 * 1024
"""Bytes that a login shell may print before the agent is ready."""
PIECE = 16 * 1024
"""Bytes of the agent sent between two reports of progress."""

FIND_PYTHON = r"""
python_of() {
    found=$("$1" -c 'import sys; sys.version_info >= (3, 8) and print(sys.executable)' \
        </dev/null 2>/dev/null)
    [ -n "$found" ] && [ -x "$found" ]
}
find_python() {
    if [ -n "$1" ]; then python_of "$1"; return; fi
    for name in python3 python3.13 python3.12 python3.11 python3.10 python3.9 python3.8 \
        /usr/bin/python3 /usr/local/bin/python3 /opt/conda/bin/python3 "$HOME"/*conda3/bin/python3
    do python_of "$name" && return; done
    return 1
}
if find_python "$1"; then exec "$found" -I -c "$2" "$3" "$4" "$5" "$6"; fi
printf 'COCKPIT-%s %s\n' NO-PYTHON "$3"
exit 127
"""
"""Constant; its words come by `set --`. Dash swallows what follows the line that execs."""


async def start(channel: Channel, node: NodeConfig, progress: Callable[[str], None]) -> None:
    """Make the channel speak frames. Raises LinkFailed."""
    agent = bundle.agent()
    nonce = secrets.token_hex(8)
    words = (
        node.python or "",
        bundle.loader(),
        nonce,
        agent.sha256,
        str(len(agent.data)),
        node.state_dir or "",
    )
    channel.write(f"set -- {shlex.join(words)}\n{FIND_PYTHON}".encode())
    answer = re.compile(rb"COCKPIT-(READY|NO-PYTHON) %s ?(have|need)?\r?\n" % nonce.encode())
    found = await channel.until(answer, MAX_NOISE)
    if found is None:
        if channel.closed.done() and (lost := channel.closed.result()) is not None:
            raise lost
        raise _no_shell(channel, node.name)
    if found[1] != b"READY":
        raise _no_python(node)
    if found[2] == b"need":
        await _ship(channel, agent.data, progress)


async def _ship(channel: Channel, data: bytes, progress: Callable[[str], None]) -> None:
    total = len(data) // 1024
    for at in range(0, len(data), PIECE):
        progress(f"shipping {at // 1024}/{total} KB")
        channel.write(data[at : at + PIECE])
        await channel.drained()


def _no_python(node: NodeConfig) -> LinkFailed:
    if node.python is not None:
        return LinkFailed(
            f"{node.name}: `python = {node.python}` is no Python 3.8 or newer there; correct it "
            f"in [nodes.{node.name}]",
            needs_person=True,
        )
    return LinkFailed(
        f"{node.name} has no python3 (3.8 or newer) that its login shell finds; install it there "
        f'or set `python = "/path/to/python3"` in [nodes.{node.name}]',
        needs_person=True,
    )


def _no_shell(channel: Channel, node: str) -> LinkFailed:
    """The channel ended, or talks without end, where a shell should have started."""
    said = (channel.unread + b" " + channel.errors.encode()).decode("utf-8", "replace")
    words = " ".join(said.split())[:300]
    cause = f"it said: {words}" if words else "it said nothing"
    return LinkFailed(
        f"{node} started no shell; {cause}. A forced command, a login shell that starts another "
        f"program or an account without a shell does this: `ssh {node} 'exec /bin/sh -s' "
        "</dev/null` must print nothing",
        needs_person=True,
    )
