"""`cockpit` alone: the screen."""

from __future__ import annotations

import asyncio
import sys

from cockpit.cli.say import Failure, note
from cockpit.cli.setting import Setting


def open_screen(setting: Setting) -> None:
    """Until the person leaves. Raises Failure where there is no terminal."""
    place = setting.place()
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise Failure("the screen needs a terminal; `cockpit --help` lists what works without one")
    from cockpit.build.window import show

    farewell = asyncio.run(show(place))
    if farewell:
        note(farewell)
