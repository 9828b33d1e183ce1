"""What the switch drops: facts, and the one firewall table that is made from all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from tests.cluster.commands import run

_TABLE = """\
table bridge faults
delete table bridge faults
table bridge faults {{
    chain forward {{
        type filter hook forward priority 0;
        {rules}
    }}
}}
"""


class Faults:
    """Drops frames between ports while every link stays up: no reset, no error, nobody is told."""

    def __init__(self, namespace: str, ports: Mapping[str, str]) -> None:
        """`namespace` is the switch's; `ports` maps each node to its port there."""
        self._namespace = namespace
        self._ports = ports
        self._silent: set[str] = set()
        self._cut: set[str] = set()
        self._cut_pairs: set[frozenset[str]] = set()
        self._loss_percent: dict[str, float] = {}
        self._one_at_a_time = threading.Lock()
        """Nodes boot in threads: a table made from older facts must not replace a newer one."""

    def silence(self, name: str) -> None:
        """Drops all packets of a node that is without power, apart from any cut."""
        self._change(lambda: self._silent.add(name))

    def unsilence(self, name: str) -> None:
        self._change(lambda: self._silent.discard(name))

    def cut(self, name: str) -> None:
        """Drops all packets from and to the node."""
        self._change(lambda: self._cut.add(name))

    def cut_between(self, name: str, other: str) -> None:
        """Drops all packets between two nodes; the operator still reaches both."""
        self._change(lambda: self._cut_pairs.add(frozenset({name, other})))

    def lose(self, name: str, percent: float) -> None:
        """Drops this share of the packets from and to the node, by chance."""
        self._change(lambda: self._loss_percent.update({name: percent}))

    def heal(self, name: str) -> None:
        """Ends every cut and loss of the node."""
        self._change(lambda: self._forget(name))

    def _forget(self, name: str) -> None:
        self._cut.discard(name)
        self._cut_pairs = {pair for pair in self._cut_pairs if name not in pair}
        self._loss_percent.pop(name, None)

    def _change(self, change: Callable[[], None]) -> None:
        with self._one_at_a_time:
            change()
            rules = "\n        ".join(self._rules())
            inside = ["ip", "netns", "exec", self._namespace]
            # One transaction: no packet ever meets half a table.
            run([*inside, "nft", "--file", "-"], stdin=_TABLE.format(rules=rules))

    def _rules(self) -> Iterator[str]:
        for name in sorted(self._cut | self._silent):
            yield from (f"{way} {self._ports[name]} drop" for way in ("iifname", "oifname"))
        for pair in self._cut_pairs:
            one, other = (self._ports[name] for name in sorted(pair))
            yield f"iifname {one} oifname {other} drop"
            yield f"iifname {other} oifname {one} drop"
        for name, percent in self._loss_percent.items():
            chance = f"numgen random mod 10000 < {round(percent * 100)}"
            yield from (
                f"{way} {self._ports[name]} {chance} drop" for way in ("iifname", "oifname")
            )
