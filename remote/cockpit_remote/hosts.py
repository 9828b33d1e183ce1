"""The hosts that a user's ssh configuration names, for `cockpit init` to choose from."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterator
from pathlib import Path

MAX_INCLUDES = 16
"""Depth of Include, as in OpenSSH."""


def default_config() -> Path:
    """Where OpenSSH looks."""
    return Path.home() / ".ssh" / "config"


def aliases(ssh_config: Path) -> list[str]:
    """Every host named without a wildcard, in the order of the file, each once.

    A file that cannot be read names nothing; what it says of a host is asyncssh's to parse.
    """
    return list(dict.fromkeys(_named(ssh_config, 0)))


def _named(path: Path, depth: int) -> Iterator[str]:
    if depth > MAX_INCLUDES or not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        keyword, words = _parse(line)
        if keyword == "host":
            yield from (word for word in words if not set(word) & set("*?!"))
        elif keyword == "include":
            for word in words:
                for file in sorted(glob.glob(_absolute(word))):
                    yield from _named(Path(file), depth + 1)


def _parse(line: str) -> tuple[str, list[str]]:
    """Keyword in lower case and its words; OpenSSH takes `Host a b` and `Host=a`."""
    try:
        words = shlex.split(line.replace("=", " ", 1), comments=True)
    except ValueError:
        return "", []
    return (words[0].lower(), words[1:]) if words else ("", [])


def _absolute(pattern: str) -> str:
    path = Path(pattern).expanduser()
    return str(path if path.is_absolute() else default_config().parent / path)
