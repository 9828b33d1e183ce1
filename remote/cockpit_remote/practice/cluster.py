"""Starting and ending a practice cluster, and sweeping up after one that was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import select
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cockpit_remote.practice import remains
from cockpit_remote.practice.layout import PracticePaths, Shape

START_LIMIT_S = 30.0
END_LIMIT_S = 30.0
READY = b"ready "
"""How the server's first line begins."""
ENDED = b"ended "
"""How its last line begins; the number of runs that it ended follows."""


class PracticeError(Exception):
    """The practice cluster could not start or end; says what to do."""


class Practice:
    """A running practice cluster, which ends with its owner: this process, however it dies."""

    def __init__(self, paths: PracticePaths, shape: Shape, lock: int) -> None:
        self._paths = paths
        self._held = contextlib.ExitStack()
        self._held.callback(os.close, lock)
        log = tempfile.TemporaryFile()  # noqa: SIM115 - open until close().
        self._log = self._held.enter_context(log)
        self._server = _launch(paths, shape, lock, self._log)
        self._closed = False

    @classmethod
    def start(cls, nodes: int = 4, slots: int = 2, gpus: int = 2) -> Practice:
        """Start it and wait until every node can be reached, which takes about a second."""
        if not sys.platform.startswith("linux"):
            raise PracticeError(
                "Practice nodes run their jobs on this machine, and that needs Linux. "
                "Start the demo on a Linux machine, or give the cockpit a node of your own."
            )
        try:
            shape = Shape(nodes, slots, gpus)
        except ValueError as error:
            raise PracticeError(f"{error}.") from error
        with _alone() as base:
            _sweep(base)
            paths = PracticePaths(base / f"{os.getpid()}-{secrets.token_hex(4)}")
            paths.directory.mkdir(mode=0o700)
            lock = os.open(paths.lock, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        practice = cls(paths, shape, lock)
        try:
            practice._wait_until_ready()
        except BaseException:
            practice.close()
            raise
        return practice

    @property
    def directory(self) -> Path:
        return self._paths.directory

    @property
    def config(self) -> Path:
        """The cockpit.toml that names its nodes."""
        return self._paths.config

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F` and for the cockpit."""
        return self._paths.ssh_config

    def close(self) -> int:
        """End the cluster with all of its jobs. Returns how many runs were still alive."""
        if self._closed:
            return 0
        self._closed = True
        with self._held:
            try:
                told, _ = self._server.communicate(timeout=END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._server.kill()
                told, _ = self._server.communicate()
            number = told.rpartition(ENDED)[2].strip()
            ended = int(number) if number.isdigit() else 0
            if self.directory.exists():  # The server was killed before it could do it.
                ended += _remove(self.directory)
            _tidy()
        return ended

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _wait_until_ready(self) -> None:
        assert self._server.stdout is not None
        deadline = time.monotonic() + START_LIMIT_S
        told = b""
        while b"\n" not in told:
            left_s = max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([self._server.stdout], [], [], left_s)
            part = os.read(self._server.stdout.fileno(), 4096) if readable else b""
            if not part:
                raise PracticeError(self._why_not_ready(bool(readable)))
            told += part

    def _why_not_ready(self, ended: bool) -> str:
        what = "ended at once" if ended else f"was not ready after {START_LIMIT_S:.0f} s"
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"The practice cluster's server {what}. It said: {lines[-1] if lines else 'nothing'}"


def sweep() -> int:
    """End and remove what dead practice clusters left. Returns how many runs were still alive."""
    with _alone() as base:
        return _sweep(base)


def list_left() -> tuple[Path, ...]:
    """The directories of practice clusters whose owner and server are both dead."""
    with _alone() as base:
        return _left(base)


def _launch(
    paths: PracticePaths, shape: Shape, lock: int, log: IO[bytes]
) -> subprocess.Popen[bytes]:
    # -P: a file of the working directory must not pass for a module.
    command = [sys.executable, "-P", "-m", "cockpit_remote.practice", str(paths.directory)]
    command += ["--nodes", str(shape.nodes), "--slots", str(shape.slots), "--gpus", str(shape.gpus)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=[lock],  # So that the lock is held until owner and server are both gone.
        start_new_session=True,  # A Ctrl-C at the terminal is the owner's to answer.
    )


@contextlib.contextmanager
def _alone() -> Iterator[Path]:
    """The directory above all practice clusters of this user, one process at a time.

    Whoever leaves it empty takes it away.
    """
    base, lock = _locked_base()
    try:
        yield base
    finally:
        with contextlib.suppress(OSError):  # Somebody's cluster is in it.
            base.rmdir()
        os.close(lock)


def _tidy() -> None:
    """Take the directory above all clusters away, if this was the last one."""
    with _alone():
        pass


def _locked_base() -> tuple[Path, int]:
    while True:
        with contextlib.suppress(FileNotFoundError):  # Somebody took it away in between.
            base = _base()
            lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if base.exists() and os.path.samestat(os.fstat(lock), base.stat()):
                return base, lock
            os.close(lock)


def _base() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    parent = runtime if os.access(runtime, os.W_OK) else tempfile.gettempdir()
    base = Path(parent) / f"cockpit-practice-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if status.st_uid != os.getuid() or not private:
        raise PracticeError(
            f"{base} is not a directory that you alone can use. Remove it, or set TMPDIR to another."
        )
    return base


def _left(base: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in base.iterdir() if path.is_dir() and not _held(path)))


def _held(directory: Path) -> bool:
    try:
        lock = os.open(PracticePaths(directory).lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(lock)


def _sweep(base: Path) -> int:
    return sum(_remove(directory) for directory in _left(base))


def _remove(directory: Path) -> int:
    ending = remains.end_all(directory)
    if ending.left:
        pids = ", ".join(str(process.pid) for process in ending.left)
        raise PracticeError(
            f"These processes of the practice cluster in {directory} do not end: {pids}. "
            "Look at them with ps, then start again: the next start ends what is left."
        )
    shutil.rmtree(directory)
    return len(ending.runs)
