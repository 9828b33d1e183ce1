"""What must be true of a node before a run may be prepared on it, asked without starting the run."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from typing import Mapping, NamedTuple, Sequence

from cockpit_node.environment import after_setup, encoded, setup_lines
from cockpit_node.kill import describe, kill
from cockpit_node.members import MARKER, Members
from cockpit_node.processes import process
from cockpit_node.refused import Refused
from cockpit_node.spec import Spec

MIN_FREE_BYTES = 64 * 1024 * 1024
MIN_FREE_INODES = 200
LIMIT_S = 60.0
"""For setup lines, and for finding torch on a slow shared file system."""
_POLL_S = 0.01
_SAID_LIMIT = 64 * 1024
_QUESTION = b"COCKPIT_QUESTION"
"""The variable by which the processes of a question are found."""
_FIND_TORCH = (
    "import importlib.util, sys\n"
    "spec = importlib.util.find_spec('torch')\n"
    "print(sys.executable)\n"
    "sys.exit(0 if spec is not None and spec.origin else 3)\n"
)
_FIND_PROGRAM = 'printf "\\n%s\\n" "$1"; type -P -- "$2"'
_NO_TORCH = 3


class Said(NamedTuple):
    """What a question to the node came back with."""

    status: int | None
    """Exit status; None if it did not end in time."""
    text: str


def check(spec: Spec, env: Mapping[bytes, bytes]) -> None:
    """Raises Refused with the first thing that is missing. The setup lines are run for it."""
    if not os.path.isdir(spec.workdir):
        message = f"there is no directory {spec.workdir}; make it, or set another workdir"
        raise Refused("NoWorkdir", message)
    script = os.path.join(spec.workdir, spec.script or "")
    if spec.script is not None and not os.path.isfile(script):
        raise Refused("NoScript", f"there is no file {script}; copy it there, or sync the code")
    if spec.resume is not None and spec.node_rank == 0 and not os.path.exists(spec.resume.path):
        message = f"there is no checkpoint {spec.resume.path}; list them with `cockpit checkpoints`"
        raise Refused("NoCheckpoint", message)
    if spec.program is not None or spec.has_setup:
        _check_program(spec, env)
    if spec.is_torchrun and os.path.basename(spec.argv[0]).startswith("python"):
        _check_torch(spec, env)


def check_space(root: str) -> None:
    """A full disk would end the run at its first line of output."""
    seen = os.statvfs(root)
    free = seen.f_bavail * seen.f_frsize
    if free < MIN_FREE_BYTES:
        figures = f"{free >> 20} MiB free, {MIN_FREE_BYTES >> 20} MiB needed"
        raise Refused("Disk", f"{root} is full: {figures}; free some space there", retry=True)
    if seen.f_files and seen.f_favail < MIN_FREE_INODES:
        message = f"{root} has only {seen.f_favail} inodes free; delete files there"
        raise Refused("Disk", message, retry=True)


def _check_program(spec: Spec, env: Mapping[bytes, bytes]) -> None:
    program = spec.program or "bash"
    if not spec.has_setup:
        path = env.get(b"PATH", b"").decode("utf-8", "surrogateescape") or os.defpath
        place = os.path.join(spec.workdir, program) if "/" in program else program
        if shutil.which(place, path=path) is None:
            raise Refused("NoProgram", _not_found(program, "PATH"))
        return
    reached = secrets.token_hex(8)
    words = ["bash", "-c", _FIND_PROGRAM, "bash", reached, program]
    said = _ask(spec, words, env)
    if reached not in said.text:
        how = f"failed with exit code {said.status}"
        if said.status is None:
            how = f"did not end within {LIMIT_S:g} s"
        raise Refused("SetupFailed", f"the setup lines {how}: {_end(said.text) or 'no output'}")
    if said.status != 0:
        raise Refused("NoProgram", _not_found(program, "PATH after the setup lines"))


def _check_torch(spec: Spec, env: Mapping[bytes, bytes]) -> None:
    python = spec.argv[0]
    said = _ask(spec, [python, "-c", _FIND_TORCH], env)
    if said.status == _NO_TORCH:
        which = _end(said.text)
        message = f"{python} is {which}, which has no torch; install it there (`{which} -m pip "
        cure = "install torch`), or submit with --venv or --python, or set `python` in cockpit.toml"
        raise Refused("NoTorch", f"{message}{cure}")
    if said.status is None:
        raise Refused("NoTorch", f"{python} did not start within {LIMIT_S:g} s", retry=True)
    if said.status != 0:
        raise Refused("NoProgram", f"{python} does not run: {_end(said.text) or said.status}")


def _ask(spec: Spec, words: Sequence[str], env: Mapping[bytes, bytes]) -> Said:
    """Run a question as the job would be run, after its setup lines if it has any."""
    if not spec.has_setup:
        return _answer(spec, encoded(words), env)
    with tempfile.NamedTemporaryFile(prefix="cockpit-setup-") as file:
        file.write(setup_lines(spec))
        file.flush()
        return _answer(spec, after_setup(file.name, words), env)


def _answer(spec: Spec, argv: Sequence[bytes], env: Mapping[bytes, bytes]) -> Said:
    """What it says goes to a file: whoever keeps a pipe open delays nobody."""
    # Another mark than the run's: a look for its processes must not find its preparation.
    marker = secrets.token_hex(16)
    env = {key: value for key, value in env.items() if key != MARKER}
    env[_QUESTION] = marker.encode()
    with tempfile.TemporaryFile() as output:
        try:
            asked = subprocess.Popen(
                argv,
                env=env,
                cwd=spec.workdir,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            word = os.fsdecode(argv[0])
            raise Refused("NoProgram", f"{word} cannot be started: {error.strerror}") from error
        in_time = False
        try:
            in_time = _has_ended(asked.pid, LIMIT_S)
        finally:
            _end_all(asked, marker)
        output.seek(0)
        said = output.read(_SAID_LIMIT).decode("utf-8", "replace")
        return Said(asked.returncode if in_time else None, said)


def _has_ended(pid: int, within_s: float) -> bool:
    """Whether it ends in time. It is not waited for yet, so that its session keeps its number."""
    give_up = time.monotonic() + within_s
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() >= give_up:
            return False
        time.sleep(_POLL_S)
    return True


def _end_all(asked: subprocess.Popen[bytes], marker: str) -> None:
    """End the question and what it left in the background. Raises Refused if something lives on."""
    row = process(asked.pid)
    known = [row.identity] if row is not None else []
    since = row.start if row is not None else 0
    left = kill(Members(marker, known=known, since=since, name=_QUESTION), _nothing)
    if not left:
        asked.wait()
        return
    message = f"{describe(left)}, which the setup lines had started; look at this node"
    raise Refused("Leftovers", message, retry=True)


def _nothing() -> None:
    """Only the question is a child of this process; `_end_all` waits for it."""


def _not_found(program: str, where: str) -> str:
    return f"there is no program {program} in the job's {where}; install it, or give its full path"


def _end(text: str) -> str:
    """The last line that says anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
