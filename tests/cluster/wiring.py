"""The lab's network: a switch, one cable to this machine and one to each node."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass

from tests.cluster import owner
from tests.cluster.commands import ip, run
from tests.cluster.faults import Faults

_TEST_NETWORKS = ipaddress.IPv4Network("198.18.0.0/15")
INTERFACE = "eth0"
"""What every node calls its one network interface."""
_OPERATOR = 1
_FIRST_NODE = 11


@dataclass(frozen=True, slots=True)
class Socket:
    """Where one node is plugged in."""

    namespace: str
    """The node's network namespace."""
    address: str
    port: str
    """The switch's side of its cable."""


class Switch:
    """Joins the operator and the nodes.

    It stands in its own network namespace so that no firewall of this machine touches what nodes
    say to each other, and so that all faults of the network have one place.
    """

    def __init__(self, lab: str, names: list[str]) -> None:
        self.lab = lab
        self.namespace = f"{lab}-switch"
        with owner.one_at_a_time():
            self.network = _free_network()
            self._plug_in_operator()
        self.sockets = {
            name: Socket(f"{lab}-{name}", str(self.network[_FIRST_NODE + i]), f"p{_FIRST_NODE + i}")
            for i, name in enumerate(names)
        }
        self.faults = Faults(self.namespace, {name: s.port for name, s in self.sockets.items()})
        interface = owner.interface_name(lab)
        ip(*(_neighbour(socket.address, interface) for socket in self.sockets.values()))

    @property
    def operator_address(self) -> str:
        return str(self.network[_OPERATOR])

    def plug_in(self, name: str) -> None:
        """Makes the node's network namespace, new and empty, and its cable; a cut stays a cut."""
        socket = self.sockets[name]
        run(["ip", "netns", "add", socket.namespace])
        ip(
            f"link add {socket.port} type veth peer name {INTERFACE} netns {socket.namespace}",
            f"link set {socket.port} master br0",
            f"link set {socket.port} up",
            namespace=self.namespace,
        )
        others = [other.address for other in self.sockets.values() if other is not socket]
        ip(
            "link set lo up",
            f"link set {INTERFACE} address {_mac(socket.address)} addrgenmode none",
            f"address add {socket.address}/{self.network.prefixlen} dev {INTERFACE}",
            f"link set {INTERFACE} up",
            *(_neighbour(other, INTERFACE) for other in [self.operator_address, *others]),
            namespace=socket.namespace,
        )
        self.faults.unsilence(name)

    def unplug(self, name: str) -> None:
        """Deletes the node's cable and network namespace, with all that its kernel knew."""
        socket = self.sockets[name]
        # The kernel removes a namespace's devices some time later; the port must be free at once.
        ip(f"link delete {socket.port}", namespace=self.namespace)
        run(["ip", "netns", "delete", socket.namespace])

    def throttle(self, name: str, mbit_per_s: float) -> None:
        """Limits the node's cable, each way, until it is unthrottled or unplugged."""
        shape = f"root tbf rate {mbit_per_s}mbit burst 32kb latency 400ms".split()
        for namespace, device in self._cable_ends(name):
            run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, *shape])

    def unthrottle(self, name: str) -> None:
        for namespace, device in self._cable_ends(name):
            if "tbf" in run(["tc", "-n", namespace, "qdisc", "show", "dev", device]):
                run(["tc", "-n", namespace, "qdisc", "delete", "dev", device, "root"])

    def _cable_ends(self, name: str) -> list[tuple[str, str]]:
        socket = self.sockets[name]
        return [(self.namespace, socket.port), (socket.namespace, INTERFACE)]

    def _plug_in_operator(self) -> None:
        interface = owner.interface_name(self.lab)
        run(["ip", "netns", "add", self.namespace])
        ip("link set lo up", "link add name br0 type bridge", namespace=self.namespace)
        ip("link set br0 up", namespace=self.namespace)
        ip(
            f"link add {interface} type veth peer name p{_OPERATOR} netns {self.namespace}",
            f"link set {interface} alias {self.lab}",
            f"link set {interface} address {_mac(self.operator_address)} addrgenmode none",
            f"address add {self.operator_address}/{self.network.prefixlen} dev {interface}",
            f"link set {interface} up",
        )
        ip(
            f"link set p{_OPERATOR} master br0",
            f"link set p{_OPERATOR} up",
            namespace=self.namespace,
        )


def _neighbour(address: str, interface: str) -> str:
    # Without a permanent entry a cut would surface as "no route to host" within seconds, and a
    # cluster behind a router never says that.
    return f"neighbour replace {address} lladdr {_mac(address)} dev {interface} nud permanent"


def _mac(address: str) -> str:
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _free_network() -> ipaddress.IPv4Network:
    """A /24 of those set apart for tests between networks (RFC 2544), unused on this machine.

    A private range may hold a name server or a host that is only reached by the default route.
    """
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    taken = [
        ipaddress.ip_network(route["dst"], strict=False)
        for route in routes
        if route["dst"] != "default"
    ]
    # A route as wide as the whole range would leave no choice; a /24 of our own wins over it.
    narrow = [network for network in taken if network.prefixlen >= 16]
    for network in _TEST_NETWORKS.subnets(new_prefix=24):
        if not any(network.overlaps(other) for other in narrow):
            return network
    raise RuntimeError(f"Every /24 of {_TEST_NETWORKS} is in use here; a lab needs one for itself.")
