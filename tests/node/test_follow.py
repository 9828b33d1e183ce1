"""Following a log that its rank does strange things to: the last word always comes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit_node.follow import Follower, Stream
from cockpit_node.wire import Chunk, Frame
from tests.node.rig import until


def by_pipe(log: Path) -> None:
    log.unlink()
    os.mkfifo(log)


def by_directory(log: Path) -> None:
    log.unlink()
    log.mkdir()


@pytest.mark.parametrize("replace", [by_pipe, by_directory, Path.unlink])
@pytest.mark.parametrize("seen_before", [True, False])
def test_a_log_that_is_no_file_any_more_still_comes_to_its_end(
    tmp_path: Path, replace: Callable[[Path], None], seen_before: bool
) -> None:
    log, over, sent = tmp_path / "0.stdout", threading.Event(), list[Frame]()
    log.write_bytes(b"hello\n")
    follower = Follower(sent.append)
    threading.Thread(target=follower.run, daemon=True).start()
    stream = Stream(7, lambda: str(log), over.is_set, 0, 1 << 20)
    if seen_before:
        follower.add(stream)
        until("the line has come", lambda: sent)
        replace(log)
    else:
        replace(log)
        follower.add(stream)
    is_plain = replace is Path.unlink
    if not is_plain:
        until("it is said", lambda: any("not a regular" in m for m in messages(sent)))
    over.set()
    until("the end", lambda: sent and not isinstance(sent[-1], Chunk) and sent[-1]["type"] == "end")
    data = b"".join(frame.data for frame in sent if isinstance(frame, Chunk))
    assert data == (b"hello\n" if seen_before else b"")


def messages(sent: list[Frame]) -> list[str]:
    """What was said about the file."""
    return [m["message"] for m in sent if not isinstance(m, Chunk) and m["type"] == "replaced"]
