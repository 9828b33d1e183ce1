"""The files that a job writes its output to, and the names that people follow them by."""

from __future__ import annotations

import os
from typing import NamedTuple, Sequence

from cockpit_node.paths import RunPaths
from cockpit_node.records import Record
from cockpit_node.spec import Spec


class RankFile(NamedTuple):
    """One file that torchrun opened for a rank."""

    rank: int
    stream: str
    """stdout or stderr."""
    path: str


class Outputs(NamedTuple):
    """Where the launcher's own output goes, and where torchrun puts its ranks'."""

    stdout: str
    stderr: str
    """The same file as stdout for torchrun, whose output is one stream."""
    logs: str
    """torchrun's log directory."""
    launcher_stream: str | None
    """Its name where the launcher is not itself the job."""

    @classmethod
    def of(cls, spec: Spec, paths: RunPaths) -> Outputs:
        if not spec.is_torchrun:
            stdout, stderr = (os.path.join(paths.log, f"0.{name}") for name in ("stdout", "stderr"))
            return cls(stdout, stderr, paths.log, None)
        name = f"launcher.{spec.node_rank}"
        output = os.path.join(paths.log, name)
        return cls(output, output, _log_directory(spec, paths.log), name)

    def streams(self, files: Sequence[RankFile]) -> list[Record]:
        """What ranks.json lists."""
        if self.launcher_stream is None:
            files = [RankFile(0, "stdout", self.stdout), RankFile(0, "stderr", self.stderr)]
        found = [_stream(f"{one.rank}.{one.stream}", *one) for one in files]
        if self.launcher_stream is not None:
            found.append(_stream(self.launcher_stream, None, "launcher", self.stdout))
        return found


def _stream(name: str, rank: int | None, stream: str, path: str) -> Record:
    return {"name": name, "rank": rank, "stream": stream, "path": path}


def _log_directory(spec: Spec, default: str) -> str:
    """What torchrun's own words say, else what its environment says."""
    for at, word in enumerate(spec.argv):
        name, equals, value = word.partition("=")
        if name in ("--log-dir", "--log_dir"):
            chosen = value if equals else "".join(spec.argv[at + 1 : at + 2])
            return os.path.join(spec.workdir, chosen)
    return os.path.join(spec.workdir, spec.env.get("PET_LOG_DIR") or default)
