"""What a training script of your own needs to be seen, saved, stopped and resumed.

Three lines in a plain loop, with torchrun or without, with a cockpit or without::

    from cockpit_trainer import run

    state = run.resume()
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for step in range(state.step if state else 0, steps):
        loss = train_one_step(step)
        run.log(step + 1, loss=loss)
        if (step + 1) % 100 == 0 or run.should_save():
            run.save(step + 1, {"model": model, "optimizer": optimizer})
        if run.should_stop():
            sys.exit(143)

Steps are counted as steps done. Every rank calls every function, at the same steps and in the same
order, after `torch.distributed.init_process_group()` where it is used at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, SupportsFloat

from torch.nn.parallel import DistributedDataParallel

from cockpit_trainer import checkpoint, rng
from cockpit_trainer.checkpoint import CheckpointError
from cockpit_trainer.distributed import Peers, own_rank, peers
from cockpit_trainer.emit import complain, emit, emit_phase
from cockpit_trainer.manifest import checkpoint_name
from cockpit_trainer.preempt import Wishes
from cockpit_trainer.resume import Resumed
from cockpit_trainer.resume import resume as resume_on_all_ranks
from cockpit_trainer.wire import CheckpointSaved, Metrics

DEFAULT_DIRECTORY = "checkpoints"
"""Where checkpoints go, below the working directory, if nobody says otherwise."""
DEFAULT_KEEP = 3

_OWN_PART = "run"


class Run:
    """One training run, as this rank sees it."""

    def __init__(
        self,
        directory: Path | None = None,
        resume_from: Path | None = None,
        keep: int = DEFAULT_KEEP,
        wishes: Wishes | None = None,
    ) -> None:
        self._given_directory = directory
        self._given_source = resume_from
        self._keep = keep
        self._wishes = wishes or Wishes()
        self._resumed_from: Path | None = None

    @property
    def directory(self) -> Path:
        """Where checkpoints go: as given, else COCKPIT_CHECKPOINT_DIR, else `checkpoints`."""
        named = os.environ.get("COCKPIT_CHECKPOINT_DIR") or DEFAULT_DIRECTORY
        return (self._given_directory or Path(named)).absolute()

    @property
    def source(self) -> Path | None:
        """The checkpoint to resume from: as given, else COCKPIT_RESUME_FROM, else the newest."""
        named = os.environ.get("COCKPIT_RESUME_FROM")
        source = self._given_source or (Path(named) if named else None)
        return source.absolute() if source else None

    def resume(self) -> Resumed | None:
        """The checkpoint to go on from, or None; call it after the model is built.

        The random generators are set as they were. A CheckpointError says why the named one is
        refused; without a name, damaged checkpoints are passed over for older ones.
        """
        emit_phase("resuming", str(self.source or self.directory))
        ranks = peers()
        resumed = resume_on_all_ranks(self.directory, self.source, ranks)
        if resumed is not None:
            self._resumed_from = resumed.path
            _restore_generators(resumed, ranks)
        return resumed

    def log(self, step: int, /, **values: SupportsFloat) -> None:
        """Print one metric line, on rank 0; `step` counts the steps done."""
        if own_rank() == 0:
            figures = {name: float(value) for name, value in values.items()}
            emit(Metrics(step, time.time(), figures))

    def save(self, step: int, state: Mapping[str, Any]) -> Path:
        """Write a checkpoint of models, optimizers or plain values; rank 0 writes, all wait for it.

        Anything with a state_dict() is saved as that, a DDP model as the model inside it.
        """
        emit_phase("saving", f"step {step}")
        ranks = peers()
        if _OWN_PART in state:
            raise CheckpointError(
                f"A part was named {_OWN_PART!r}, as the run's own is; use another name."
            )
        parts = {name: _plain(value) for name, value in state.items()}
        parts[_OWN_PART] = {"rng": {k: ranks.gather(v) for k, v in rng.capture().items()}}
        failure = bytearray()
        if ranks.rank == 0:
            try:
                checkpoint.write(self.directory, step, ranks.size, parts)
            except CheckpointError as why:
                failure += str(why).encode()
        failure = ranks.broadcast(failure if ranks.rank == 0 else None)
        if failure:
            raise CheckpointError(failure.decode())
        saved = self.directory / checkpoint_name(step)
        self._wishes.saved()
        if ranks.rank == 0:
            emit(CheckpointSaved(step, str(saved)))
            self._prune(saved)
        return saved

    def should_save(self) -> bool:
        """Whether any rank got SIGUSR1 or is to stop; every rank asks once a step.

        The first call takes SIGUSR1 over.
        """
        self._wishes.catch_save()
        return self._wishes.agree_to_save(peers())

    def should_stop(self) -> bool:
        """Whether any rank got SIGTERM; every rank asks once a step, after `should_save`.

        The first call takes SIGTERM over.
        """
        self._wishes.catch_stop()
        return self._wishes.agree_to_stop(peers())

    def _prune(self, saved: Path) -> None:
        spared = [path for path in (saved, self._resumed_from) if path is not None]
        try:
            checkpoint.prune(self.directory, self._keep, spared)
        except OSError as why:
            complain(f"Old checkpoints could not be removed ({why}); remove them by hand.")


def _plain(value: Any) -> Any:
    if isinstance(value, DistributedDataParallel):
        value = value.module
    return value.state_dict() if hasattr(value, "state_dict") else value


def _restore_generators(resumed: Resumed, ranks: Peers) -> None:
    states = resumed.parts.get(_OWN_PART, {}).get("rng")
    if resumed.world_size == ranks.size and states is not None:
        rng.restore({name: rows[ranks.rank] for name, rows in states.items()})
    elif ranks.rank == 0:
        complain(
            f"The checkpoint was saved by {resumed.world_size} ranks and {ranks.size} go on: "
            "the weights are the same, the random numbers and the order of the data are not."
        )


_run = Run()
resume = _run.resume
log = _run.log
save = _run.save
should_save = _run.should_save
should_stop = _run.should_stop
