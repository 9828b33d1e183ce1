"""What this node says of itself in `hello`: names, versions, boot, data-plane address."""

from __future__ import annotations

import fcntl
import os
import platform
import pwd
import socket
import struct
import sys
from typing import NamedTuple

from cockpit_node.wire import LAYOUT, PROTOCOL, Message

_SIOCGIFADDR = 0x8915


class DataPlane(NamedTuple):
    """Where ranks of other nodes reach this node."""

    address: str | None
    """IPv4."""
    interface: str | None


def hello(state_root: str, interface: str | None) -> Message:
    """The first message of this node."""
    plane = data_plane(interface, os.environ.get("SSH_CONNECTION", ""))
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "layout": LAYOUT,
        "version": version(),
        "hostname": socket.gethostname(),
        "user": user_name(os.getuid()),
        "uid": os.getuid(),
        "python": platform.python_version(),
        "pid": os.getpid(),
        "boot_id": boot_id(),
        "state_root": state_root,
        "address": plane.address,
        "interface": plane.interface,
        "cores": len(os.sched_getaffinity(0)),
    }


def data_plane(interface: str | None, ssh_connection: str) -> DataPlane:
    """The address of `interface` if one is configured, else the one that SSH came in by."""
    if interface is not None:
        return DataPlane(_address_of(interface), interface)
    words = ssh_connection.split()
    address = words[2].rpartition("::ffff:")[2] if len(words) == 4 else ""
    if ":" in address:
        name = _interface_of_ipv6(address)
        return DataPlane(_address_of(name) if name else None, name)
    return DataPlane(address or None, _interface_of(address))


def user_name(uid: int) -> str:
    """The account's name, or its number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def version() -> str:
    """Which agent this is, for people: the hash that its file is named by."""
    name = os.path.basename(sys.argv[0])
    return name[:12] if name.endswith(".pyz") else "unpacked"


def _interface_of(address: str) -> str | None:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if _address_of(name) == address), None)


def _address_of(interface: str) -> str | None:
    request = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, request)
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def _interface_of_ipv6(address: str) -> str | None:
    try:
        wanted = socket.inet_pton(socket.AF_INET6, address.partition("%")[0]).hex()
        with open("/proc/net/if_inet6", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    return next((row[5] for row in rows if row[0] == wanted), None)
