"""What a job finds around it: its environment, byte for byte, and the words it is started with."""

from __future__ import annotations

from typing import Mapping, Sequence

from cockpit_node.paths import RunPaths
from cockpit_node.spec import Spec

GRACE_STRETCH = 10
"""How many times its grace a job may use while its checkpoint grows."""
_PRIVATE = (b"COCKPIT_", b"SSH_")
"""What the agent's own session knows and a job does not."""


def job_environment(
    inherited: Mapping[bytes, bytes], spec: Spec, paths: RunPaths, trainer: str | None
) -> dict[bytes, bytes]:
    """The login session's environment, then defaults, then the job's own, then who it is.

    No shell starts for it, so nothing of .bashrc or .profile is in it.
    """
    result = {k: v for k, v in inherited.items() if not k.startswith(_PRIVATE)}
    result.update(_defaults(spec, paths))
    result.update({_bytes(key): _bytes(value) for key, value in spec.env.items()})
    result.update(_who_it_is(spec, paths))
    if trainer is not None:
        python_path = result.get(b"PYTHONPATH")
        result[b"PYTHONPATH"] = b":".join(filter(None, (python_path, _bytes(trainer))))
    return result


def job_argv(spec: Spec, paths: RunPaths, port: int | None) -> list[bytes]:
    """The launcher's words, the port filled in, the setup lines run before."""
    words = list(spec.argv)
    if spec.port_at is not None and port is not None:
        words[spec.port_at] = str(port)
    return after_setup(paths.setup, words) if spec.has_setup else encoded(words)


def after_setup(file: str, words: Sequence[str]) -> list[bytes]:
    """`words`, run by bash once every line in `file` has succeeded; its exec keeps the pid.

    The lines are in a file because they may hold secrets, and anyone can read the words of a
    process. They see and may set the words as `$@`.
    """
    return encoded(["bash", "-c", 'set -e; source "$0"; exec "$@"', file, *words])


def setup_lines(spec: Spec) -> bytes:
    """What `after_setup` needs to find in its file."""
    return _bytes(f"{spec.setup}\n")


def encoded(words: Sequence[str]) -> list[bytes]:
    """Words as a process gets them."""
    return [_bytes(word) for word in words]


def _defaults(spec: Spec, paths: RunPaths) -> dict[bytes, bytes]:
    defaults = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    if spec.is_torchrun:
        # The supervisor decides when the grace is over, so torchrun must not decide sooner.
        defaults["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = str(int(spec.grace_s * GRACE_STRETCH) + 1)
        defaults["PET_LOG_DIR"] = paths.log
        defaults["PET_REDIRECTS"] = "3"
    return _encoded(defaults)


def _who_it_is(spec: Spec, paths: RunPaths) -> dict[bytes, bytes]:
    fields = {
        "COCKPIT_RUN": spec.marker,
        "COCKPIT_ATTEMPT": str(spec.attempt),
        "COCKPIT_NODE_RANK": str(spec.node_rank),
        "COCKPIT_NNODES": str(spec.nnodes),
        "COCKPIT_CHECKPOINT_DIR": spec.checkpoints(paths),
        "CUDA_VISIBLE_DEVICES": spec.cuda_devices,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    if spec.resume is not None:
        fields["COCKPIT_RESUME_FROM"] = spec.resume.path
        fields["COCKPIT_RESUME_STEP"] = str(spec.resume.step)
    return _encoded(fields)


def _encoded(fields: Mapping[str, str]) -> dict[bytes, bytes]:
    return {_bytes(key): _bytes(value) for key, value in fields.items()}


def _bytes(text: str) -> bytes:
    """UTF-8 whatever the locale; a path's undecodable bytes as they were."""
    return text.encode("utf-8", "surrogateescape")
