"""The reference training run: `torchrun -m cockpit_trainer.train`, or `python -m` for one process.

Exit status: 0 trained to the last step; 2 refused as asked for; 143 stopped by SIGTERM, saved if
there is a --checkpoint-dir; 1 anything else.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Sequence

from cockpit_trainer.emit import complain, emit_phase
from cockpit_trainer.options import Options, read_options
from cockpit_trainer.preempt import Wishes


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the arguments say. torch is imported late: importing it is a phase of its own."""
    options = read_options(arguments)
    wishes = Wishes()
    if options.checkpoint_dir is not None:
        wishes.catch_save()
    emit_phase("importing torch")
    # The trainer uses no NumPy, and torch complains on every rank where there is none.
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    if importlib.util.find_spec("torch") is None:
        complain(f"There is no torch in {sys.executable}; get it with: pip install 'torch>=2.4'")
        return 1
    return _train(options, wishes)


def _train(options: Options, wishes: Wishes) -> int:
    """Turn what a person can act on into one sentence; leave the rest to torchrun's error file."""
    from torch.distributed.elastic.multiprocessing.errors import record

    from cockpit_trainer.checkpoint import CheckpointError
    from cockpit_trainer.data import DataError
    from cockpit_trainer.loop import Refusal, train

    try:
        return record(train)(options, wishes) or 0
    except Refusal as why:
        complain(str(why))
        return 2
    except (CheckpointError, DataError) as why:
        complain(str(why))
        return 1


if __name__ == "__main__":
    sys.exit(main())
