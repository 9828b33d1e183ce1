"""The command line of the trainer, and which of it is refused before anything is imported."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from cockpit_trainer.manifest import ManifestError, read_manifest


@dataclass(frozen=True)
class Options:
    """What a training run was asked to do."""

    steps: int
    batch_size: int
    """Sequences a rank and step."""
    block_size: int
    """Tokens a sequence."""
    layers: int
    heads: int
    width: int
    lr: float
    """Highest learning rate, reached after the warm-up."""
    warmup: int
    """Steps."""
    seed: int
    checkpoint_dir: Path | None
    """None: no checkpoints."""
    checkpoint_every: int
    """Steps; 0: only at the end and on a signal."""
    resume_from: Path | None
    """None: the newest complete checkpoint in `checkpoint_dir`, if there is one."""
    keep: int
    """Checkpoints; 0: all."""
    log_every: int
    eval_every: int
    """Steps; 0: never."""
    dtype: str
    """auto, bf16 or fp32."""
    device: str
    """auto, cpu or cuda."""
    min_step_seconds: float
    """A step takes at least this long, to watch a small run at leisure."""


class _Parser(argparse.ArgumentParser):
    """Refuses with one sentence instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cockpit_trainer: {message}; see --help\n")


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """The options of this process, or exit status 2 and a sentence."""
    parser = _parser()
    given = parser.parse_args(arguments)
    options = Options(**{field.name: getattr(given, field.name) for field in fields(Options)})
    refusal = _refusal(options)
    if refusal is not None:
        parser.error(refusal)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m cockpit_trainer.train",
        description="Train a small GPT on the sources of Python's standard library.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    _add_model_and_schedule(parser)
    _add_checkpoints(parser)
    _add_machine(parser)
    return parser


def _add_model_and_schedule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, default=200, help="stop after this many")
    parser.add_argument("--batch-size", type=int, default=8, help="sequences a rank and step")
    parser.add_argument("--block-size", type=int, default=64, help="bytes a sequence")
    parser.add_argument("--layers", type=int, default=2, help="blocks of the model")
    parser.add_argument("--heads", type=int, default=4, help="attention heads a block")
    parser.add_argument("--width", type=int, default=64, help="width of the model")
    parser.add_argument("--lr", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--warmup", type=int, default=20, help="steps up to that rate")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of the data")
    parser.add_argument("--log-every", type=int, default=10, help="steps between metric lines")
    parser.add_argument("--eval-every", type=int, default=0, help="steps; 0 is never")


def _add_checkpoints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoint-dir",
        type=Path,
        default=_path_from("COCKPIT_CHECKPOINT_DIR"),
        help="where checkpoints go; $COCKPIT_CHECKPOINT_DIR, else there are none",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=int,
        default=0,
        help="steps; 0 is at the end and on a signal only",
    )
    parser.add_argument(
        "--resume-from",
        type=Path,
        default=_path_from("COCKPIT_RESUME_FROM"),
        help="a checkpoint; $COCKPIT_RESUME_FROM, else the newest in --checkpoint-dir",
    )
    parser.add_argument("--keep", type=int, default=3, help="newest checkpoints; 0 is all")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dtype", choices=("auto", "bf16", "fp32"), default="auto")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument(
        "--min-step-seconds", type=float, default=0.0, help="slow a run down to watch it"
    )


def _path_from(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _refusal(options: Options) -> str | None:
    """What is wrong with these options, if anything is."""
    for name in ("steps", "batch_size", "block_size", "layers", "heads", "width", "log_every"):
        if getattr(options, name) < 1:
            return f"--{name.replace('_', '-')} must be 1 or more"
    for name in ("warmup", "seed", "checkpoint_every", "eval_every", "keep", "min_step_seconds"):
        if not getattr(options, name) >= 0:
            return f"--{name.replace('_', '-')} must not be negative"
    if not options.lr > 0:
        return "--lr must be above 0"
    if options.width % options.heads:
        return f"--width {options.width} must be a multiple of --heads {options.heads}"
    if options.checkpoint_every and options.checkpoint_dir is None:
        return "--checkpoint-every needs a --checkpoint-dir"
    return _source_refusal(options.resume_from)


def _source_refusal(source: Path | None) -> str | None:
    """Looked at by rank 0 only: the others may be on machines without that disk."""
    if source is None or os.environ.get("RANK", "0") != "0":
        return None
    if not source.is_dir():
        return f"{source} cannot be resumed from: it is not there"
    try:
        read_manifest(source)
    except ManifestError as why:
        return f"{source} cannot be resumed from: {why}"
    return None
