"""Training on several processes: who takes which part of a step, and how their gradients become one.

Every process holds the whole net and the same state; examples stay on disk, and each reads only its own blocks. Only
the first one writes. Gradients are summed after the blocks of a step, so a step is that of one process: by gloo between
processors, by NCCL between cards. Started by torchrun; without it there is one process, and this costs nothing.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, TypeVar

import torch
import torch.distributed as distributed
from torch import nn

from tracerank.errors import TrainingError, UsageError

T = TypeVar("T")
Device: TypeAlias = torch.device
CPU, CUDA = "cpu", "cuda"
PROCESSOR = torch.device(CPU)
_BACKENDS = {CPU: "gloo", CUDA: "cpu:gloo,cuda:nccl"}
"""With cards there are still counts to be summed by processors."""
_PATIENCE = timedelta(days=7)
"""While the first process prepares examples the others wait; torchrun ends them all when one dies."""


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0
    count: int = 1

    @classmethod
    def here(cls) -> "Processes":
        """As ``joined`` has set it up; alone outside of it."""
        if not (distributed.is_available() and distributed.is_initialized()):
            return cls()
        return cls(distributed.get_rank(), distributed.get_world_size())

    @property
    def is_writer(self) -> bool:
        return self.rank == 0

    def own(self, items: Sequence[T]) -> list[tuple[int, T]]:
        """This process's share, each with its place."""
        return list(enumerate(items))[self.rank :: self.count]

    def block_size(self, pools: int, most: int) -> int:
        """Pools of a block in steps of so many: as many as stay in cache, but some for everybody.

        Where everybody has that many, blocks are those of one process, and so is what dropout draws in them.
        """
        return max(1, min(most, -(-pools // self.count)))

    def summed(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes; the same numbers in each."""
        if self.count == 1:
            return list(values)
        whole = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(whole)
        return [float(value) for value in whole]

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Each gradient summed over all processes; one that nobody has stays away, so that nothing decays by it."""
        if self.count == 1:
            return
        held = parameters[0].new_tensor([parameter.grad is not None for parameter in parameters])
        grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
        flat = torch.cat((held, *(grad.reshape(-1) for grad in grads)))
        distributed.all_reduce(flat)
        sizes = [len(parameters), *(one.numel() for one in parameters)]
        is_held, *parts = torch.split(flat, sizes)
        for parameter, part, anybody in zip(parameters, parts, is_held.tolist(), strict=True):
            parameter.grad = part.view_as(parameter).clone() if anybody else None

    def first_here(self, make: Callable[[], T]) -> T:
        """Made by the writer alone, then by the others, who find what it wrote."""
        if self.is_writer:
            made = make()
            self.wait()
            return made
        self.wait()
        return make()

    def wait(self) -> None:
        """Until all processes are here."""
        # Not a sum: its tensor would be let go by another thread, which aborts a process that is about to end.
        if self.count > 1:
            distributed.barrier()


def device_here(name: str) -> torch.device:
    """The processor, or the card of this process: under torchrun each has its own."""
    if name == CPU:
        return PROCESSOR
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    number = int(os.environ.get("LOCAL_RANK", "0"))
    if number >= cards:
        which = "no card" if not cards else f"{cards} card{'s' * (cards > 1)} for process {number + 1}"
        raise UsageError(f"--device {name}: torch sees {which} on this machine; leave the option out to use processors")
    return torch.device(name, number)


@contextmanager
def joined(device: torch.device = PROCESSOR) -> Iterator[Processes]:
    """The processes that torchrun has started; alone if it has not."""
    if device.type == CUDA:
        torch.cuda.set_device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "MASTER_ADDR" not in os.environ:
        yield Processes()
        return
    try:
        distributed.init_process_group(_BACKENDS[device.type], timeout=_PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise TrainingError(f"the processes do not find each other ({error}); start them with torchrun") from None
    try:
        yield Processes.here()
    finally:
        distributed.destroy_process_group()
