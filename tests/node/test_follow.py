"""Following a log that its rank does strange things to: the last word always comes."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit_node.follow import Follower, Stream
from cockpit_node.wire import Chunk, Frame
from cockpit_remote import streams
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


def test_a_log_that_is_replaced_again_and_again_begins_anew_each_time(tmp_path: Path) -> None:
    log, over, operator = tmp_path / "0.stdout", threading.Event(), Operator()
    log.write_bytes(b"first\n")
    operator.follow(log, over)
    for content in (b"second\n", b"third\n", b"fourth\n"):
        until("the old one has come", lambda: not operator.lacks(log))
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(log)
    over.set()
    until("the end", lambda: operator.sent[-1] == {"type": "end", "stream": 7, "offset": 7})
    assert operator.data == b"first\nsecond\nthird\nfourth\n"
    assert messages(operator.sent) == [f"{log} was replaced by another file"] * 3


def test_after_a_pipe_stood_in_its_place_a_log_comes_from_its_first_byte(tmp_path: Path) -> None:
    log, over, operator = tmp_path / "0.stdout", threading.Event(), Operator(offset=6)
    for content in (b"anew\n", b"once more\n"):
        os.mkfifo(log)
        if not operator.data:
            operator.follow(log, over)
        until("the pipe is seen", lambda: pipes(operator.sent))
        operator.sent.clear()
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(log)
        until("all has come", lambda: not operator.lacks(log))
        log.unlink()
    over.set()
    assert operator.data == b"anew\nonce more\n"


def test_a_read_that_fails_for_a_moment_goes_on_where_it_was(tmp_path: Path) -> None:
    # A page of memory behind the end of its file cannot be read until the file grows again.
    sent = list[Frame]()
    with open(tmp_path / "behind", "w+b") as behind:
        behind.write(b"x" * mmap.PAGESIZE)
        behind.flush()
        with mmap.mmap(behind.fileno(), mmap.PAGESIZE) as page:
            first = ctypes.c_char.from_buffer(page)
            place = ctypes.addressof(first)
            del first
            os.ftruncate(behind.fileno(), 0)
            stream = Stream(7, lambda: "/proc/self/mem", lambda: False, place, 5)
            follower = Follower(sent.append)
            threading.Thread(target=follower.run, daemon=True).start()
            follower.add(stream)
            until("it has failed", lambda: stream.idle > 2)
            assert sent == []
            os.ftruncate(behind.fileno(), mmap.PAGESIZE)
            until("it goes on", lambda: sent)
            follower.remove(7)
    assert sent[0] == Chunk(7, place, b"\0" * 5)


class Operator:
    """The other end: its own count of the bytes must fit what the node sends."""

    def __init__(self, offset: int = 0) -> None:
        self.sent: list[Frame] = []
        self.data = b""
        self._offset = offset
        self._end = streams.Stream(7, offset, 1 << 20, lambda event: None, _no_credit, _no_drop)

    def follow(self, log: Path, over: threading.Event) -> None:
        follower = Follower(self.take)
        threading.Thread(target=follower.run, daemon=True).start()
        follower.add(Stream(7, lambda: str(log), over.is_set, self._offset, 1 << 20))

    def take(self, frame: Frame) -> None:
        if isinstance(frame, Chunk):
            self._end.append(frame)
            self.data += frame.data
        elif frame["type"] == "replaced":
            self._end.replace(frame["message"])
        else:
            self._end.end(frame["offset"])
        self.sent.append(frame)

    def lacks(self, log: Path) -> bool:
        """Whether the log as it is now has not come to its end yet."""
        return not self.data.endswith(log.read_bytes())


def _no_credit(number: int, count: int) -> None:
    """These stories need less than is granted at first."""


async def _no_drop(number: int) -> None:
    """Nobody stops following."""


def pipes(sent: list[Frame]) -> list[str]:
    """What was said about a pipe."""
    return [message for message in messages(sent) if "not a regular" in message]


def messages(sent: list[Frame]) -> list[str]:
    """What was said about the file."""
    return [m["message"] for m in sent if not isinstance(m, Chunk) and m["type"] == "replaced"]
