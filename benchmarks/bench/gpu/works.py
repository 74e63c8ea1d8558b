"""The interface of the works of a GPU suite."""
from __future__ import annotations

import random
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import torch

from . import check
from .peers import Peer

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Work(ABC):
    """One program at one shape.

    `goals` maps a peer to the least required ratio; "sdpa" means the fastest of SDPA's back ends.
    Peers "ours ID" are other works, by useful operations in a second; "time of ID + ID" are other
    works behind each other, by time.
    """

    id: str
    program: str
    dtype: str
    target: str
    params: dict[str, float] = field(default_factory=dict)
    peers: list[str] = field(default_factory=list)
    goals: dict[str, float] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """The program's name, which selects its formula."""
        return Path(self.program).stem

    @property
    def shape(self) -> str:
        sizes = [f"{name}={size}" for name, size in self.sizes.items()]
        return " ".join([*sizes, *(f"{name}={value}" for name, value in self.params.items())])

    def __str__(self) -> str:
        return f"{self.id} {self.dtype} {self.target} {self.shape}"

    def make_generator(self, seed: int, device: torch.device) -> torch.Generator:
        """Random numbers that depend only on the seed, not on the set of works."""
        return torch.Generator(device).manual_seed(seed ^ zlib.crc32(self.id.encode()))

    def compare(self, out: torch.Tensor, other: torch.Tensor) -> float:
        """The greatest difference of two whole results; `WrongResult` beyond twice the bound."""
        return check.compare(self.dtype, out, other)

    @property
    def agreement(self) -> float:
        """The agreement of neighbouring tokens' selections, for tuning."""
        return 0.0

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Dimensions of the program by name."""

    @abstractmethod
    def useful_operations(self, inputs: Tensors) -> int:
        """Both products of each visible pair, in FLOP."""

    @abstractmethod
    def bytes(self) -> int:
        """Bytes of inputs and result, each once."""

    @abstractmethod
    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """The program's inputs by name."""

    @abstractmethod
    def check(self, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
              order: random.Random) -> float:
        """The greatest error of sampled rows, relative to their largest element; `WrongResult` if
        it exceeds the bound."""

    @abstractmethod
    def make_peer(self, name: str, inputs: Tensors) -> Peer:
        """Raises `Unavailable` if the peer can't compute this, ValueError for an unknown name."""


def split(works: list[Work], most: int, most_bytes: float) -> list[list[Work]]:
    """Neighbours that are measured together: at most so many, and so much memory."""
    groups: list[list[Work]] = []
    for work in works:
        if groups and len(groups[-1]) < most and \
                sum(each.bytes() for each in (*groups[-1], work)) <= most_bytes:
            groups[-1].append(work)
        else:
            groups.append([work])
    return groups
