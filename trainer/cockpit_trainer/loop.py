"""Trains the model: the loop, and what it reports, saves and obeys."""

from __future__ import annotations

import math
import os
import random
import time
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from cockpit_trainer import distributed
from cockpit_trainer.checkpoint import CheckpointError
from cockpit_trainer.data import Corpus, read_standard_library
from cockpit_trainer.emit import complain, emit_phase, say
from cockpit_trainer.model import GPT, GPTConfig, parameter_count
from cockpit_trainer.options import Options
from cockpit_trainer.pace import Pace, flops_per_token, peak_flops
from cockpit_trainer.preempt import STOPPED_EXIT_CODE, Wishes
from cockpit_trainer.resume import Resumed
from cockpit_trainer.run import Run

EVALUATION_BATCHES = 4
"""A rank."""
LOWEST_LR_SHARE = 0.1
LARGEST_GRADIENT_NORM = 1.0


class Refusal(Exception):
    """Why this run cannot be as asked, as one sentence and what to do."""


def train(options: Options, wishes: Wishes) -> int:
    """Train as asked; return the exit status."""
    device = _prepare(options)
    distributed.join(device)
    status = _train(options, wishes, device)
    distributed.leave()
    return status


def _train(options: Options, wishes: Wishes, device: torch.device) -> int:
    """A function of its own, so that nothing of the model is left when the ranks part."""
    emit_phase("loading data")
    trainer = Trainer(options, wishes, device, read_standard_library())
    return trainer.train_from(trainer.resume())


def learning_rate(step: int, options: Options) -> float:
    """Up in a line over the warm-up, then down along a cosine to a tenth."""
    if step < options.warmup:
        return options.lr * (step + 1) / options.warmup
    share = (step - options.warmup) / max(1, options.steps - options.warmup)
    cosine = (1 + math.cos(math.pi * min(1.0, share))) / 2
    return options.lr * (LOWEST_LR_SHARE + (1 - LOWEST_LR_SHARE) * cosine)


class Trainer:
    """The model, its optimizer and its data on one rank."""

    def __init__(
        self, options: Options, wishes: Wishes, device: torch.device, corpus: Corpus
    ) -> None:
        self._options = options
        self._device = device
        self._corpus = corpus
        self._wishes = wishes
        self._ranks = distributed.peers()
        self._run = Run(options.checkpoint_dir, options.resume_from, options.keep, wishes)
        self._bf16 = _wants_bf16(options, device)
        torch.manual_seed(options.seed)
        random.seed(options.seed)
        self._config = GPTConfig(options.block_size, options.layers, options.heads, options.width)
        self._model = GPT(self._config).to(device)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=options.lr, betas=(0.9, 0.95), weight_decay=0.1
        )
        self._pace = self._make_pace()

    def resume(self) -> int:
        """Load the checkpoint to go on from, if any; return the steps done."""
        options = self._options
        if options.checkpoint_dir is None and options.resume_from is None:
            return 0
        try:
            resumed = self._run.resume()
        except CheckpointError as why:
            raise Refusal(str(why)) from why
        if resumed is None:
            return 0
        self._compare(resumed)
        self._model.load_state_dict(resumed["model"])
        self._optimizer.load_state_dict(resumed["optimizer"])
        self._say(f"Resumed at step {resumed.step} from {resumed.path}.")
        return resumed.step

    def train_from(self, start: int) -> int:
        """Train from step `start` to the last; return the exit status."""
        options, steps = self._options, self._options.steps
        if start >= steps:
            return self._finish(f"Nothing to do: step {start} of {steps} was reached before.")
        self._run.log(start, total_steps=steps)
        emit_phase("first step", f"step {start + 1}")
        model = self._distribute(start)
        self._wishes.catch_stop()  # Every rank is here, so that all can save; before, none could.
        self._pace.start()
        for step in range(start, steps):
            began = time.perf_counter()
            loss, norm = self._step(model, step)
            self._slow_down(began)
            self._pace.step_done()
            done = step + 1
            if done % options.log_every == 0 or done in (start + 1, steps):
                self._report(done, loss, norm)
            if options.eval_every and done % options.eval_every == 0:
                self._evaluate(done)
            if self._is_save_due(done):
                self._save(done)
            if done < steps and self._run.should_stop():
                self._say(f"Stopped by SIGTERM after step {done} of {steps}.")
                return STOPPED_EXIT_CODE
        return self._finish(f"Done: {steps} steps.")

    def _finish(self, sentence: str) -> int:
        emit_phase("done", sentence)
        self._say(sentence)
        return 0

    def _say(self, sentence: str) -> None:
        """For people, from rank 0 only."""
        if self._ranks.rank == 0:
            say(sentence)

    def _distribute(self, start: int) -> nn.Module:
        """The model over all ranks, after one pass whose gradients are dropped.

        DDP lays its buckets out anew after the first pass, and sums in another order. With that
        pass out of the way, a resumed run sums in the order of one that was never killed.
        """
        if self._ranks.size == 1:
            return self._model
        device_ids = [self._device.index] if self._device.type == "cuda" else None
        model = DistributedDataParallel(self._model, device_ids=device_ids)
        torch.autograd.backward(self._loss(model, "train", start))
        self._optimizer.zero_grad(set_to_none=True)
        return model

    def _step(self, model: nn.Module, step: int) -> tuple[Tensor, Tensor]:
        """One update; the loss on this rank and the norm of the gradient over all ranks."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(step, self._options)
        loss = self._loss(model, "train", step)
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self._model.parameters(), LARGEST_GRADIENT_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss.detach(), norm

    def _loss(self, model: nn.Module, part: str, number: int) -> Tensor:
        """On this rank's batch of that number: a function of it, the seed and the rank alone."""
        options, ranks = self._options, self._ranks
        key = f"{options.seed}/{number}/{ranks.rank}/{ranks.size}"
        batch = self._corpus.batch(part, key, options.batch_size, options.block_size)
        inputs, targets = (tensor.to(self._device, non_blocking=True) for tensor in batch)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            loss: Tensor = model(inputs, targets)
        return loss

    def _report(self, done: int, loss: Tensor, norm: Tensor) -> None:
        (mean,) = self._ranks.mean([loss.item()])
        figures = self._pace.report()
        lr = learning_rate(done - 1, self._options)
        self._run.log(done, loss=mean, lr=lr, grad_norm=norm, **figures)
        self._say(
            f"step {done}/{self._options.steps}  loss {mean:.4f}  "
            f"{figures['tokens_per_s']:,.0f} tokens/s  "
            f"{figures['step_time_s'] * 1000:,.1f} ms a step"
        )

    def _evaluate(self, done: int) -> None:
        emit_phase("evaluating", f"step {done}")
        with self._pace.pause(), torch.no_grad():
            losses = [
                self._loss(self._model, "validation", number).item()
                for number in range(EVALUATION_BATCHES)
            ]
        (mean,) = self._ranks.mean([sum(losses) / len(losses)])
        self._run.log(done, val_loss=mean)

    def _is_save_due(self, done: int) -> bool:
        options = self._options
        if options.checkpoint_dir is None:
            return False
        every = options.checkpoint_every
        planned = done == options.steps or (every > 0 and done % every == 0)
        return planned or self._run.should_save()

    def _save(self, done: int) -> None:
        state = {
            "model": self._model,
            "optimizer": self._optimizer,
            "trainer": self._description(),
        }
        with self._pace.pause():
            self._run.save(done, state)

    def _description(self) -> dict[str, Any]:
        """What must be the same for a resumed run to end bit for bit as one never killed."""
        return {
            "shape": asdict(self._config),
            "data": {
                "seed": self._options.seed,
                "batch_size": self._options.batch_size,
                "corpus": self._corpus.fingerprint,
            },
        }

    def _compare(self, resumed: Resumed) -> None:
        """Refuse another shape; say what else is not as it was."""
        saved, ours = resumed.parts.get("trainer"), self._description()
        if saved is None:
            raise Refusal(f"{resumed.path} was saved by another program; resume it with that.")
        if saved["shape"] != ours["shape"]:
            raise Refusal(
                f"The checkpoint is of a model with {_list(saved['shape'])}, and "
                f"{_list(ours['shape'])} was asked for; ask for the same, or resume from another."
            )
        if saved["data"] != ours["data"] and self._ranks.rank == 0:
            complain(
                f"The data go on otherwise than they were: the checkpoint had "
                f"{_list(saved['data'])}, this run has {_list(ours['data'])}."
            )

    def _make_pace(self) -> Pace:
        options, ranks = self._options, self._ranks
        tokens = options.batch_size * options.block_size * ranks.size
        peak = None
        if self._device.type == "cuda" and self._bf16:
            peak = peak_flops(torch.cuda.get_device_name(self._device))
        if peak is None:
            return Pace(tokens, None)
        flops = flops_per_token(
            parameter_count(self._model), options.layers, options.width, options.block_size
        )
        return Pace(tokens, ranks.size * peak / flops)

    def _slow_down(self, began: float) -> None:
        missing = began + self._options.min_step_seconds - time.perf_counter()
        if missing > 0:
            time.sleep(missing)


def _prepare(options: Options) -> torch.device:
    """The device of this rank, with torch set up to do the same thing twice the same way."""
    if options.device == "cuda" and not torch.cuda.is_available():
        raise Refusal("No CUDA device is visible here; use --device cpu or auto.")
    device = distributed.choose_device(options.device)
    if device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    # cuBLAS is only deterministic with a workspace of a fixed size; it reads this when it starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    return device


def _wants_bf16(options: Options, device: torch.device) -> bool:
    if options.dtype != "auto":
        return options.dtype == "bf16"
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


def _list(description: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in description.items())
