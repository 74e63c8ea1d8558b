"""The least time that a work can take, by the hardware's ceilings."""
from __future__ import annotations

from dataclasses import dataclass, fields

import torch


@dataclass(frozen=True)
class Counts:
    """The necessary work: products in FLOP, exponentials, bytes from memory to the L2 cache, and
    bytes from there to multiprocessors."""

    flop: float = 0.0
    exps: float = 0.0
    hbm_bytes: float = 0.0
    l2_bytes: float = 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, each.name) + getattr(other, each.name)
                        for each in fields(Counts)))


# Exponentials of one multiprocessor in a clock cycle.
EXPS_PER_CLOCK = 16


@dataclass(frozen=True)
class Ceilings:
    """Ceilings for a second. FLOP and bytes were measured on an H200: cuBLAS, bf16, 8192³; bulk
    copies of 16 to 32 KiB at random from 8 GiB, and from 32 MiB. Exponentials are for 132
    multiprocessors at 1980 MHz."""

    flop: float = 782e12
    exps: float = EXPS_PER_CLOCK * 132 * 1.98e9
    hbm_bytes: float = 4.6e12
    l2_bytes: float = 9.1e12


NAMES = {"flop": "products", "exps": "exponentials", "hbm_bytes": "memory", "l2_bytes": "L2"}


def find_floor(counts: Counts, ceilings: Ceilings = Ceilings()) -> tuple[float, str]:
    """Milliseconds of the longest part, and its name: all parts can run at once."""
    times = {name: getattr(counts, key) / getattr(ceilings, key) * 1e3
             for key, name in NAMES.items()}
    name = max(times, key=lambda each: times[each])
    return times[name], name


def count_attention(pairs: float, size: int, value_size: int, products: int = 2) -> Counts:
    """Counts for visible pairs of one query head, times heads and batch."""
    sizes = (size, value_size, size)[:products]
    return Counts(flop=pairs * 2 * sum(sizes), exps=pairs)


def count_union(idx: torch.Tensor, tile: int, blocks: int) -> int:
    """Blocks that tiles of so many tokens read once each, from i32 [tokens, heads, top]."""
    total = 0
    for head in range(idx.shape[1]):
        rows = torch.arange(idx.shape[0], device=idx.device) // tile
        keys = rows[:, None].long() * blocks + idx[:, head]
        total += int(keys[idx[:, head] >= 0].unique().numel())
    return total
