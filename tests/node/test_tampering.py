"""A job that spoils the files about itself: it is still seen for what it is, and still ended."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cockpit_node import records, runs
from cockpit_node.paths import RunPaths
from cockpit_node.processes import process
from tests.node.rig import Rig, kill, until

MNT_DETACH = 2
SLEEPS = ["bash", "-c", "echo ready; sleep 600"]


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        # The name of a socket has to be short.
        made.bind(f"/proc/self/fd/{os.open(path.parent, os.O_RDONLY)}/{path.name}")


def _device(path: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))


STANDS: dict[str, Callable[[Path], None]] = {
    "a directory": Path.mkdir,
    "a pipe": os.mkfifo,
    "a loop": _loop,
    "a socket": _socket,
    "a link elsewhere": lambda path: path.symlink_to("/etc/hostname"),
}
if os.geteuid() == 0:
    STANDS["a device"] = _device
RECORDS = [
    "spec.json",
    "claim.json",
    "sup.json",
    "exit.json",
    "ranks.json",
    "processes.json",
    "beat",
]


def spoil(paths: RunPaths, name: str, stand: str) -> None:
    path = Path(paths.directory, name)
    path.unlink(missing_ok=True)
    STANDS[stand](path)


@pytest.mark.parametrize("first", [0, 3])
def test_whatever_stands_in_place_of_the_records_a_run_is_seen_and_stopped(
    rig: Rig, first: int
) -> None:
    stands = itertools.islice(itertools.cycle(STANDS), first, None)
    paths = rig.start(rig.spec(SLEEPS))
    rig.state(paths, "confirmed")
    beat = rig.look(paths)["beat"]
    for name in RECORDS:
        spoil(paths, name, next(stands))
        rig.look(paths)
    spoiled = until("its record is written anew", lambda: rig.state(paths, "confirmed"))
    assert "spec.json cannot be read" in spoiled["message"]
    until("the beat goes on", lambda: (rig.look(paths)["beat"] or 0) > beat)
    assert rig.look(paths)["processes"] == 1
    spoil(paths, "stop.json", next(stands))
    runs.stop(rig.node, paths.run, paths.attempt, 5, "enough")
    end = rig.ended(paths)
    assert (end["stopped"], end["signal"], end["leftovers"]) == (True, "SIGTERM", 0)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 4096, b"garbage"], ids=["empty", "NUL", "garbage"]
)
@pytest.mark.parametrize("name", ["spec.json", "sup.json"])
def test_after_a_power_cut_a_run_is_lost_and_not_unknown(
    rig: Rig, name: str, content: bytes
) -> None:
    paths = rig.start(rig.spec(SLEEPS))
    pid = rig.state(paths, "confirmed")["ranks"][0]["pid"]
    kill(rig.supervisor(paths))
    for spoiled in ("spec.json", name):
        Path(paths.directory, spoiled).write_bytes(content)
    state = rig.look(paths)
    assert (state["state"], state["processes"]) == ("unsupervised", 1)
    assert f"{paths.spec} is not JSON" in state["message"]
    for row in [process(pid), *map(process, rig.marked())]:
        if row is not None:
            kill(row.identity)
    assert rig.look(paths)["state"] == "lost"


def test_a_run_whose_records_are_all_unreadable_still_gets_its_grace(rig: Rig) -> None:
    words = "trap 'echo saved > saved; exit 0' TERM; echo ready; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words]))
    until("it is ready", lambda: rig.stream(paths, "0.stdout"))
    kill(rig.supervisor(paths))
    for name in ("spec.json", "sup.json", "ranks.json", "claim.json"):
        Path(paths.directory, name).write_bytes(b"\0" * 4096)
    runs.stop(rig.node, paths.run, paths.attempt, 5, "enough")
    end = rig.ended(paths)
    assert (end["stopped"], end["leftovers"], rig.text("saved")) == (True, 0, "saved\n")


def test_an_attempt_with_an_unreadable_spec_is_aborted(rig: Rig) -> None:
    paths = rig.start(rig.spec(SLEEPS, units=["slot-0"]))
    kill(rig.supervisor(paths))
    Path(paths.spec).write_bytes(b"")
    runs.abort(rig.node, paths.run, paths.attempt, "1.1")
    assert rig.marked() == []
    assert not os.path.exists(paths.directory)


def test_a_checkpoint_directory_that_cannot_be_measured_keeps_nothing_from_ending(
    rig: Rig,
) -> None:
    directory = rig.work / "checkpoints"
    directory.mkdir()
    deepest = os.open(directory, os.O_RDONLY)
    # The last directory has a path that a call takes, the file in it has none.
    for length in _lengths(4080 - len(str(directory))):
        os.mkdir("x" * length, dir_fd=deepest)
        inner = os.open("x" * length, os.O_RDONLY, dir_fd=deepest)
        os.close(deepest)
        deepest = inner
    os.close(os.open("x" * 99, os.O_CREAT, dir_fd=deepest))
    os.close(deepest)
    paths = rig.start(rig.spec(SLEEPS, checkpoint_dir=str(directory)))
    runs.stop(rig.node, paths.run, paths.attempt, 5, "enough")
    assert rig.ended(paths)["leftovers"] == 0
    # Pytest could not remove it.
    subprocess.run(["rm", "-rf", directory], check=True)


@contextlib.contextmanager
def hanging(directory: Path) -> Iterator[None]:
    """Every question about what is in `directory` waits for ever."""
    libc = ctypes.CDLL(None, use_errno=True)
    # A file system in user space whose process never answers.
    server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    place = os.fsencode(directory)
    if libc.mount(b"hangs", place, b"fuse", 0, options) != 0:
        os.close(server)
        raise OSError(ctypes.get_errno(), "no file system can be made that hangs")
    try:
        yield
    finally:
        os.close(server)
        libc.umount2(place, MNT_DETACH)


@pytest.mark.cluster
@pytest.mark.parametrize(("grace_s", "said"), [(1.5, "ready\nasked\n"), (0, "ready\n")])
def test_a_checkpoint_directory_that_hangs_keeps_nothing_from_ending(
    rig: Rig, grace_s: float, said: str
) -> None:
    directory = rig.work / "checkpoints"
    directory.mkdir()
    words = "trap 'echo asked' TERM; echo ready; while true; do sleep 0.1; done"
    paths = rig.start(rig.spec(["bash", "-c", words], checkpoint_dir=str(directory)))
    until("it is ready", lambda: rig.stream(paths, "0.stdout"))
    with hanging(directory):
        runs.stop(rig.node, paths.run, paths.attempt, grace_s, "enough")
        end = until("the end", lambda: rig.look(paths)["exit"], within_s=30)
    assert (end["signal"], end["leftovers"]) == ("SIGKILL", 0)
    assert rig.stream(paths, "0.stdout") == said


def _lengths(total: int) -> list[int]:
    """Names that, each with its slash, are so long together."""
    return [200] * (total // 201) + [total % 201 - 1 or 1]


@pytest.mark.cluster
def test_what_may_not_be_looked_at_counts_for_nothing(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\nfrom cockpit_node.growth import Growth\nos.setuid(65534)\n"
        "growth = Growth(sys.argv[1])\ngrowth.look()\n"
        "open(sys.argv[1] + '/seen', 'w').write('x')\ngrowth.look()\n"
        "print(growth.recent(time.monotonic()))\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        closed = Path(directory, "closed")
        closed.mkdir()
        (closed / "file").write_text("x")
        closed.chmod(0o744)
        said = subprocess.run(
            [sys.executable, "-c", code, directory],
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert (said.stdout, said.stderr) == ("True\n", "")


def test_a_record_is_written_over_whatever_stands_in_its_place(tmp_path: Path) -> None:
    for write in (records.fill, records.replace):
        for stand in STANDS.values():
            path = tmp_path / "record"
            path.unlink(missing_ok=True)
            stand(path)
            write(str(path), {"code": 0})
            assert records.read(str(path)) == {"code": 0}
    assert Path("/etc/hostname").read_text() != '{"code":0}'
