"""A free port, held until the process that will listen on it starts."""

from __future__ import annotations

import errno
import os
import random
import socket

from cockpit_node.refused import Refused

RANGE = range(20000, 30000)
_TRIES = 200


class HeldPort:
    """A port that nobody else on this node can bind meanwhile."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.number: int = sock.getsockname()[1]

    def release(self) -> None:
        self._socket.close()


def hold() -> HeldPort:
    """One at random. On every address, since torch's store listens on every address."""
    for number in random.sample(RANGE, _TRIES):
        sock = _bound(number)
        if sock is not None:
            return HeldPort(sock)
    message = f"none of {_TRIES} ports tried from {RANGE.start} to {RANGE.stop - 1} was free"
    raise Refused("Port", message, retry=True)


def _bound(number: int) -> socket.socket | None:
    sock = _socket()
    try:
        sock.bind(("", number))
    except OSError as error:
        sock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return sock


def _socket() -> socket.socket:
    """For both families, where the node has IPv6."""
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    return sock
