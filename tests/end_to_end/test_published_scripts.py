"""A script as others publish it runs unchanged, started by itself or by its own torchrun line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.end_to_end.world import PATIENCE_S, PROJECT, World

pytestmark = [pytest.mark.cluster, pytest.mark.torch]

SCRIPT = '''
"""In the style of the DDP tutorial: a toy model, a snapshot, torchrun's environment."""
import argparse
import gc
import os
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class ToyDataset(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(0)
        self.data = [
            (torch.rand(20, generator=generator), torch.rand(1, generator=generator))
            for _ in range(size)
        ]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Trainer:
    def __init__(self, model, loader, optimizer, snapshot_path):
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.global_rank = int(os.environ["RANK"])
        self.model, self.loader, self.optimizer = model, loader, optimizer
        self.epochs_run = 0
        self.snapshot_path = snapshot_path
        if os.path.exists(snapshot_path):
            snapshot = torch.load(snapshot_path, map_location="cpu")
            self.model.load_state_dict(snapshot["MODEL_STATE"])
            self.epochs_run = snapshot["EPOCHS_RUN"]
            print(f"Resuming training from snapshot at Epoch {self.epochs_run}")
        self.model = DDP(self.model)

    def train(self, epochs, save_every):
        for epoch in range(self.epochs_run, epochs):
            self.loader.sampler.set_epoch(epoch)
            for source, targets in self.loader:
                self.optimizer.zero_grad()
                loss = F.mse_loss(self.model(source), targets)
                loss.backward()
                self.optimizer.step()
            print(f"[CPU{self.global_rank}] Epoch {epoch} | Steps: {len(self.loader)}")
            if self.global_rank == 0 and epoch % save_every == 0:
                torch.save(
                    {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch},
                    self.snapshot_path,
                )
                print(f"Epoch {epoch} | Training snapshot saved at {self.snapshot_path}")


def main(save_every, total_epochs, batch_size):
    dist.init_process_group(backend="gloo")
    torch.manual_seed(0)
    model = torch.nn.Linear(20, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    dataset = ToyDataset(256)
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=False,
                        sampler=DistributedSampler(dataset))
    Trainer(model, loader, optimizer, "snapshot.pt").train(total_epochs, save_every)
    gc.collect()  # A DDP model that outlives its group now and then aborts torch 2.13 at exit.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="simple distributed training job")
    parser.add_argument("total_epochs", type=int)
    parser.add_argument("save_every", type=int)
    parser.add_argument("--batch_size", default=32, type=int)
    args = parser.parse_args()
    main(args.save_every, args.total_epochs, args.batch_size)
'''
ARGUMENTS = ("3", "2", "--batch_size", "16")
TYPED = {
    "by itself": ("-N", "2", "-G", "2", "--", "train.py"),
    "by its own torchrun line": (
        *("-N", "2", "--", "torchrun", "--nnodes=2", "--nproc_per_node=2"),
        *("--rdzv_id=456", "--rdzv_backend=c10d", "--rdzv_endpoint=host-a:29500", "train.py"),
    ),
}


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED.keys())
def test_a_published_ddp_script_trains_on_two_nodes_unchanged(
    running: World, typed: tuple[str, ...]
) -> None:
    running.put("train.py", SCRIPT)
    number = running.submit("--env", "OMP_NUM_THREADS=1", *typed, *ARGUMENTS)
    job = running.ended(number, PATIENCE_S)
    assert (job["state"], job["code"]) == ("completed", 0), running.lines(number)
    _check(running, job)


def _check(running: World, job: Mapping[str, Any]) -> None:
    assert job["ranks"] == 4
    said = [line.partition(" ")[2] for line in running.lines(job["id"])]
    for rank in range(4):
        for epoch in range(3):
            assert f"[CPU{rank}] Epoch {epoch} | Steps: 4" in said
    home = running.lab.nodes[job["nodes"][0]]
    assert home.host_path(f"{PROJECT}/snapshot.pt").stat().st_size > 0
