"""Where things lie on a node: the state root, the lock directory, every file of a run."""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from cockpit_node.mounts import NETWORK_KINDS, mount_of

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_CLAIM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_ATTEMPT = re.compile(r"[1-9][0-9]{0,6}")


class BadPath(Exception):
    """A name or a directory that cockpit does not use; says why and what to do."""


def state_root(configured: str | None = None) -> str:
    """The directory that cockpit keeps everything in on this node, made if need be."""
    if configured:
        return _configured(os.path.expanduser(configured))
    home = os.path.expanduser("~/.local/state/cockpit-node")
    if _is_local(home) and _made(home) and os.access(home, os.W_OK):
        return home
    return _own(f"/var/tmp/cockpit-{os.getuid()}")


def lock_directory() -> str:
    """Where the leases of this node are, the same for all of its users."""
    return os.environ.get("COCKPIT_NODE_LOCKS") or "/tmp/cockpit-locks"


class RunPaths(NamedTuple):
    """Every file of one attempt of a run on one node."""

    root: str
    node: str
    run: str
    attempt: int

    @classmethod
    def of(cls, root: str, node: object, run: object, attempt: object) -> RunPaths:
        """Raises BadPath on a name that could lead elsewhere."""
        if not isinstance(node, str) or not _NODE.fullmatch(node):
            raise BadPath(f"{node!r:.80} is no name of a node")
        if not isinstance(run, str) or not _RUN.fullmatch(run):
            raise BadPath(f"{run!r:.80} is no run id")
        if type(attempt) is not int or not _ATTEMPT.fullmatch(str(attempt)):
            raise BadPath(f"{attempt!r:.80} is no number of an attempt")
        return cls(root, node, run, attempt)

    @classmethod
    def at(cls, directory: str) -> RunPaths:
        """The run whose attempt directory is `directory`."""
        rest, attempt = os.path.split(os.path.normpath(directory))
        rest, run = os.path.split(rest)
        root, node = os.path.split(rest)
        if not _ATTEMPT.fullmatch(attempt):
            raise BadPath(f"{directory!r:.200} is no directory of an attempt")
        return cls.of(root, node, run, int(attempt))

    @property
    def marker(self) -> str:
        """The value of COCKPIT_RUN in every process of this attempt on this node."""
        return f"{self.run}/{self.attempt}/{self.node}"

    @property
    def node_directory(self) -> str:
        return os.path.join(self.root, self.node)

    @property
    def run_directory(self) -> str:
        return os.path.join(self.node_directory, self.run)

    @property
    def checkpoints(self) -> str:
        """Where checkpoints go unless the job says otherwise; shared by the attempts of a run."""
        return os.path.join(self.run_directory, "checkpoints")

    @property
    def directory(self) -> str:
        return os.path.join(self.run_directory, str(self.attempt))

    def aborted(self, claim: str) -> str:
        """The mark that this claim of the attempt shall never start here."""
        if not _CLAIM.fullmatch(claim):
            raise BadPath(f"{claim!r:.80} is no claim of an attempt")
        return os.path.join(self.run_directory, f".aborted-{self.attempt}-{claim}")

    @property
    def spec(self) -> str:
        return os.path.join(self.directory, "spec.json")

    @property
    def claim(self) -> str:
        return os.path.join(self.directory, "claim.json")

    @property
    def supervisor(self) -> str:
        return os.path.join(self.directory, "sup.json")

    @property
    def supervisor_log(self) -> str:
        """What the supervisor says when it breaks; empty otherwise."""
        return os.path.join(self.directory, "supervisor.log")

    @property
    def processes(self) -> str:
        """Identities of the run's processes, by which a later supervisor finds them."""
        return os.path.join(self.directory, "processes.json")

    @property
    def beat(self) -> str:
        return os.path.join(self.directory, "beat")

    @property
    def go(self) -> str:
        return os.path.join(self.directory, "go.json")

    @property
    def confirm(self) -> str:
        return os.path.join(self.directory, "confirm")

    @property
    def abort(self) -> str:
        return os.path.join(self.directory, "abort")

    @property
    def stop(self) -> str:
        return os.path.join(self.directory, "stop.json")

    @property
    def setup(self) -> str:
        """The setup lines, for bash to read; they may hold secrets."""
        return os.path.join(self.directory, "setup.sh")

    @property
    def log(self) -> str:
        return os.path.join(self.directory, "log")

    @property
    def streams(self) -> str:
        return os.path.join(self.directory, "ranks.json")

    @property
    def exit(self) -> str:
        return os.path.join(self.directory, "exit.json")


def attempts(root: str, node: str) -> list[RunPaths]:
    """Every attempt of `node` in `root`, in the order of run ids."""
    RunPaths.of(root, node, "0", 1)
    found = []
    for run in _names(os.path.join(root, node)):
        if not _RUN.fullmatch(run):
            continue
        numbers = [int(n) for n in _names(os.path.join(root, node, run)) if _ATTEMPT.fullmatch(n)]
        found += [RunPaths(root, node, run, number) for number in sorted(numbers)]
    return found


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        # Not there, no directory, or closed to us: then nothing in it can be watched either.
        return []


def _configured(path: str) -> str:
    if not os.path.isabs(path):
        raise BadPath(f"state_dir {path!r} is not absolute; write it from the root on")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise BadPath(
            f"state_dir {path} cannot be made ({error.strerror}); name another"
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadPath(f"state_dir {path} is not writable for this user; name another")
    return path


def _is_local(path: str) -> bool:
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    if not os.access(path, os.R_OK):
        return False
    mount = mount_of(path)
    return mount is not None and mount.kind not in NETWORK_KINDS


def _made(path: str) -> bool:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return True


def _own(path: str) -> str:
    """`path` as a directory that is ours alone; anyone could have made one in /var/tmp."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise BadPath(f"{path} cannot be made ({error.strerror}); set state_dir") from error
    seen = os.lstat(path)
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
        raise BadPath(f"{path} is not a directory of this user; set state_dir to another place")
    if seen.st_mode & 0o077:
        raise BadPath(f"{path} is open to others; run `chmod 700 {path}` on the node")
    return path
