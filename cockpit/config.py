"""cockpit.toml into a frozen Config; what is wrong with it is said with line, key and cure."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cockpit.core.request import VARIABLE

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a cluster, node or job may be called: safe in paths, tables and shells."""

_ROOT_KEYS = ("version", "cluster", "nodes")
_CLUSTER_KEYS = ("name",)
_NODE_KEYS: Mapping[str, type] = {
    "address": str,
    "user": str,
    "port": int,
    "slots": int,
    "interface": str,
    "python": str,
    "workdir": str,
    "env": dict,
    "state_dir": str,
}
VERSION = 1


class ConfigError(Exception):
    """The configuration cannot be used; the text says where and what to do."""


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """One `[nodes.NAME]` table."""

    name: str
    address: str
    """Host name, IP address or alias in the ssh configuration."""
    user: str | None = None
    port: int | None = None
    slots: int | None = None
    """CPU slots to offer where there is no GPU; the node's core count if None."""
    interface: str | None = None
    """Network interface of the data plane, for rendezvous, gloo and NCCL."""
    python: str | None = None
    """Python for the agent and for jobs that name none."""
    workdir: str | None = None
    """Work directory of jobs that name none."""
    env: Mapping[str, str] = field(default_factory=dict)
    state_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """One cluster."""

    name: str
    nodes: tuple[NodeConfig, ...]
    path: Path


def find(start: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The nearest cockpit.toml upwards from `start`, then the user's own."""
    for directory in (start, *start.parents):
        if (directory / "cockpit.toml").is_file():
            return directory / "cockpit.toml"
    base = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = base / "cockpit" / "cockpit.toml"
    return own if own.is_file() else None


def load(path: Path) -> Config:
    """Read and check one file. Raises ConfigError."""
    text = _read(path)
    table = _parse(path, text)
    where = _Where(path, text)
    where.known(table, _ROOT_KEYS, "")
    version = table.get("version", VERSION)
    if version != VERSION:
        raise where.error("version", f"this cockpit reads version {VERSION}, not {version!r}")
    cluster = where.table(table.get("cluster", {}), "cluster")
    where.known(cluster, _CLUSTER_KEYS, "cluster")
    name = cluster.get("name", "lab")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise where.error("name", f"cluster name {name!r} must match {NAME.pattern}", "cluster")
    nodes = where.table(table.get("nodes", {}), "nodes")
    if not nodes:
        raise ConfigError(f"{path} names no node; add a [nodes.NAME] table or run `cockpit init`")
    return Config(name, tuple(_node(where, key, nodes[key]) for key in nodes), path)


def _read(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ConfigError(f"cannot read {path}: it is not a file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8; save it as UTF-8") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomli

    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        lines = text.splitlines() or [""]
        at = max(0, min(error.lineno, len(lines)) - 1)
        caret = " " * (error.colno - 1) + "^"
        raise ConfigError(
            f"{path}, line {error.lineno}: {error.msg}\n  {lines[at]}\n  {caret}{_cause(error.msg, lines[at])}"
        ) from error


def _cause(message: str, line: str) -> str:
    """What people most likely did, and its cure, as one more line."""
    if "overwrite" in message or "twice" in message or "already" in message:
        return "\n  this is written twice: keep one of them"
    if re.search("[\u2018\u2019\u201c\u201d]", line):
        return '\n  typographic quotes: write " instead'
    if re.search(r'"[^"]*\\', line):
        return "\n  a backslash escapes inside \"...\": write '...' or double it"
    if re.search(r"=\s*0\d", line):
        return "\n  a number may not begin with 0"
    if re.search(r"=\s*[A-Za-z0-9][^\s\"'=]*\s*$", line):
        return "\n  text such as a name or an address: put it in quotes"
    return ""


class _Where:
    """Finds the line of a key again, for messages; TOML parsers keep none."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def error(self, key: str, message: str, table: str = "") -> ConfigError:
        line = self._line(key, table)
        place = f"{self._path}, line {line}" if line else f"{self._path}"
        return ConfigError(f"{place}: {message}")

    def known(self, table: Mapping[str, Any], keys: Iterable[str], name: str) -> None:
        """Refuse the first key that is not one of `keys`, naming the nearest."""
        for key in table:
            if key not in keys:
                near = difflib.get_close_matches(key, list(keys), n=1)
                hint = f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(keys)}"
                place = f" in [{name}]" if name else ""
                raise self.error(key, f"unknown key `{key}`{place}{hint}", name)

    def table(self, value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            outer, _, key = name.rpartition(".")
            raise self.error(key, f"`{name}` must be a table, written [{name}]", outer)
        return value

    def _line(self, key: str, table: str) -> int | None:
        header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]")
        begin = next((i for i, line in enumerate(self._lines) if header.match(line)), 0)
        quoted = rf"[\"']?{re.escape(key)}[\"']?"
        mine = re.compile(rf"\s*(?:{quoted}\s*[=.]|\[.*{quoted}[\].])")
        for start in (begin if table else 0, 0):
            for number, line in enumerate(self._lines[start:], start + 1):
                if mine.match(line):
                    return number
        return None


def _node(where: _Where, name: str, value: object) -> NodeConfig:
    place = f"nodes.{name}"
    if not NAME.fullmatch(name):
        raise where.error(name, f"node name {name!r} must match {NAME.pattern}", place)
    table = where.table(value, place)
    dotted = _dotted(name, table)
    if dotted != name:
        raise where.error(
            name, f'node names with dots need quotes: write [nodes."{dotted}"]', place
        )
    where.known(table, _NODE_KEYS, place)
    for key, inner in table.items():
        kind = _NODE_KEYS[key]
        if not isinstance(inner, kind) or isinstance(inner, bool):
            words = {str: "text in quotes", int: "a whole number", dict: "a table"}[kind]
            raise where.error(key, f"`{key}` in [{place}] must be {words}", place)
    _check_values(where, table, place)
    return NodeConfig(**{"name": name, "address": name, **table})


def _dotted(name: str, table: Mapping[str, Any]) -> str:
    """The name that was meant where TOML has read its dots as nested tables."""
    for key, inner in table.items():
        if key not in _NODE_KEYS and isinstance(inner, dict):
            return _dotted(f"{name}.{key}", inner)
    return name


def _check_values(where: _Where, table: Mapping[str, Any], place: str) -> None:
    if not 1 <= table.get("port", 22) <= 65535:
        raise where.error("port", f"`port` in [{place}] must be between 1 and 65535", place)
    if table.get("slots", 1) < 1:
        raise where.error("slots", f"`slots` in [{place}] must be 1 or more", place)
    for key, inner in table.get("env", {}).items():
        if not isinstance(inner, str):
            raise where.error(key, f"`{key}` in [{place}.env] must be text in quotes", place)
        if not VARIABLE.fullmatch(key):
            raise where.error(key, f"`{key}` in [{place}.env] is not the name of a variable", place)
    if not table.get("workdir", "/").startswith("/"):
        raise where.error("workdir", f"`workdir` in [{place}] must be an absolute path", place)
    if not table.get("state_dir", "/").startswith(("/", "~")):
        words = f"`state_dir` in [{place}] must be an absolute path, or begin with ~"
        raise where.error("state_dir", words, place)
    for key in ("address", "user"):
        if table.get(key, "x").startswith("-") or not table.get(key, "x").strip():
            raise where.error(key, f"`{key}` in [{place}] is not usable: {table[key]!r}", place)
