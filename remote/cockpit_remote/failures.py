"""Why there is no link to a node, as sentences for people."""

from __future__ import annotations

import asyncio
import socket

import asyncssh


class LinkFailed(Exception):
    """There is no link; the text says what happened and what to do."""

    def __init__(self, message: str, needs_person: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.needs_person = needs_person
        """True where trying again cannot help until somebody changes something."""


class TimedOut(LinkFailed):
    """Nothing answered, so that trying again costs nobody anything."""


def explain(node: str, place: str, error: Exception) -> LinkFailed:
    """What went wrong while connecting to `place`, which is an address for people."""
    match error:
        case LinkFailed():
            return error
        case TimeoutError() | asyncio.TimeoutError():
            return TimedOut(f"{node} ({place}) does not answer: is it on, and is the network up?")
        case asyncssh.PermissionDenied():
            return LinkFailed(
                f"{node} ({place}) refused the login: check `user`, the key, and that "
                "the home and authorized_keys there are writable by their owner alone; "
                f"`ssh {node} true` must work without a question",
                needs_person=True,
            )
        case asyncssh.ConfigParseError():
            return LinkFailed(f"the ssh configuration cannot be used: {error}", needs_person=True)
        case asyncssh.KeyExchangeFailed():
            return LinkFailed(
                f"{node} ({place}) and this machine share no key or cipher: {error.reason}; "
                "if its host key is of another kind now, compare it and renew known_hosts",
                needs_person=True,
            )
        case socket.gaierror():
            return LinkFailed(
                f"{node}: no address is known for {place}: correct `address` in "
                "cockpit.toml, or give it a HostName in the SSH configuration"
            )
        case ConnectionRefusedError():
            return LinkFailed(f"{node} ({place}) refused the connection: is sshd running there?")
        case asyncssh.Error():
            return LinkFailed(f"the connection to {node} ({place}) was lost: {error.reason}")
        case _:
            return LinkFailed(
                f"{node} ({place}) cannot be reached: {error or type(error).__name__}"
            )
