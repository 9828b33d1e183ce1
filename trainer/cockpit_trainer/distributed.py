"""The ranks of a run: joining them, the device of this one, and a channel between them on the CPU."""

from __future__ import annotations

import atexit
import gc
import os
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from cockpit_trainer.emit import emit_phase

_CHUNK_BYTES = 64 * 1024 * 1024
_SIOCGIFADDR = 0x8915


def choose_device(wish: str) -> torch.device:
    """The device of this rank: `wish` is auto, cpu or cuda."""
    if wish == "cpu" or (wish == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return device


def join(device: torch.device) -> None:
    """Meet the other ranks that torchrun started; without torchrun there are none to meet."""
    if "RANK" not in os.environ or "MASTER_ADDR" not in os.environ:
        return
    emit_phase("waiting for peers", f"{os.environ.get('WORLD_SIZE')} ranks")
    _let_gloo_find_its_interface()
    if device.type == "cuda":
        dist.init_process_group("nccl", device_id=device)
    else:
        dist.init_process_group("gloo")


def leave() -> None:
    """Close every connection and end gloo's threads, before Python ends.

    One that lets go of a tensor while Python ends was seen to abort the process. A group ends its
    threads when nobody holds it any more, so cycles that hold it are collected first.
    """
    gc.collect()
    _close_channels()
    if dist.is_initialized():
        dist.destroy_process_group()


@dataclass(frozen=True)
class Peers:
    """This rank among the others, over a gloo group of its own: no exchange here waits for a GPU."""

    rank: int = 0
    size: int = 1
    """Ranks in the run."""
    group: dist.ProcessGroup | None = None

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """For each flag, whether it is set on any rank."""
        if self.size == 1:
            return flags
        agreed = torch.tensor(flags, dtype=torch.uint8)
        dist.all_reduce(agreed, dist.ReduceOp.MAX, group=self.group)
        return tuple(bool(flag) for flag in agreed.tolist())

    def mean(self, values: Sequence[float]) -> list[float]:
        """For each value, its mean over the ranks."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total, group=self.group)
        return [float(value) / self.size for value in total.tolist()]

    def gather(self, mine: torch.Tensor) -> torch.Tensor:
        """The tensors of all ranks, all of one shape, stacked: (rank, ...)."""
        if self.size == 1:
            return mine.unsqueeze(0)
        rows = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(rows, mine, group=self.group)
        return torch.stack(rows)

    def broadcast(self, content: bytearray | None) -> bytearray:
        """The bytes of rank 0, on every rank. Bytes, never pickled objects: nothing is executed."""
        if self.size == 1:
            return content or bytearray()
        length = torch.tensor([len(content or b"")])
        dist.broadcast(length, 0, group=self.group)
        content = bytearray(int(length)) if content is None else content
        if content:
            whole = torch.frombuffer(content, dtype=torch.uint8)
            for start in range(0, len(content), _CHUNK_BYTES):
                dist.broadcast(whole[start : start + _CHUNK_BYTES], 0, group=self.group)
        return content


def own_rank() -> int:
    """The rank of this process, known from the start."""
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", "0"))


_channels: dict[dist.ProcessGroup | None, Peers] = {}
"""By the default group they belong to: a process may leave one and join another."""


def peers() -> Peers:
    """The ranks of this run. The first call makes the group, so every rank must make it."""
    if not dist.is_initialized():
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise RuntimeError(
                "the ranks have not met yet; "
                "call torch.distributed.init_process_group() before this function"
            )
        return Peers()
    world = dist.group.WORLD
    if world not in _channels:
        group = dist.new_group(backend="gloo")
        _channels[world] = Peers(dist.get_rank(), dist.get_world_size(), group)
        atexit.register(_close_channels)
    return _channels[world]


def _close_channels() -> None:
    if dist.is_initialized() and dist.group.WORLD in _channels:
        dist.destroy_process_group(_channels[dist.group.WORLD].group)
    _channels.clear()


def _let_gloo_find_its_interface() -> None:
    """Name the interface that leads to rank 0.

    By itself gloo takes the one that the hostname resolves to, which on many machines is loopback.
    """
    if "GLOO_SOCKET_IFNAME" not in os.environ:
        interface = _interface_towards(os.environ["MASTER_ADDR"])
        if interface is not None:
            os.environ["GLOO_SOCKET_IFNAME"] = interface


def _interface_towards(host: str) -> str | None:
    """The interface with the IPv4 address that this machine would speak to `host` from, on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # Sends nothing: the kernel only chooses a route.
        except OSError:
            return None
        ours = socket.inet_aton(probe.getsockname()[0])
        names = [name for _, name in socket.if_nameindex()]
        return next((name for name in names if _address_of(name, probe) == ours), None)


def _address_of(interface: str, probe: socket.socket) -> bytes | None:
    """The interface's IPv4 address in network order, if it has one."""
    import fcntl

    request = struct.pack("256s", interface.encode()[:15])
    try:
        return fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)[20:24]
    except OSError:
        return None
