"""The works of the suite: shapes, inputs, useful operations, goals."""
from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import torch

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Work:
    """One program at one shape; S is T.

    `goals` maps a peer to the least ratio asked for; "sdpa" means the fastest of SDPA's back
    ends, and "ours ID" another work, by useful operations in a second.
    """

    id: str
    program: str
    B: int
    T: int
    HQ: int
    H: int
    D: int
    DV: int
    dtype: str
    target: str
    params: dict[str, float] = field(default_factory=dict)
    peers: list[str] = field(default_factory=list)
    goals: dict[str, float] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """The program's name, by which its formula is found."""
        return Path(self.program).stem

    @property
    def shape(self) -> str:
        shape = (f"B={self.B} T={self.T} S={self.T} HQ={self.HQ} H={self.H} D={self.D} "
                 f"DV={self.DV}")
        return " ".join([shape, *(f"{name}={value}" for name, value in self.params.items())])

    def __str__(self) -> str:
        return f"{self.id} {self.dtype} {self.target} {self.shape}"

    def useful_operations(self) -> int:
        """Both products of each visible pair."""
        return self.visible_pairs() * self.B * self.HQ * 2 * (self.D + self.DV)

    def visible_pairs(self) -> int:
        """Of one head of one batch."""
        if self.pattern == "full":
            return self.T * self.T
        width = self.T
        if self.pattern == "window":
            width = min(self.T, int(self.params["window"]))
        return width * (width + 1) // 2 + (self.T - width) * width

    def bytes(self) -> int:
        """Of inputs and result once, in elements' types."""
        heads = self.HQ * (self.D + self.DV) + self.H * (self.D + self.DV)
        return self.B * self.T * heads * DTYPES[self.dtype].itemsize

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Normal numbers, the same for one seed whichever works are measured."""
        generator = torch.Generator(device).manual_seed(seed ^ zlib.crc32(self.id.encode()))

        def draw(heads: int, size: int) -> torch.Tensor:
            shape = (self.B, self.T, heads, size)
            return torch.randn(shape, generator=generator, device=device).to(DTYPES[self.dtype])

        inputs = {"q": draw(self.HQ, self.D), "k": draw(self.H, self.D),
                  "v": draw(self.H, self.DV)}
        if self.pattern == "softcap_alibi":
            head = torch.arange(1, self.HQ + 1, device=device, dtype=torch.float32)
            inputs["slope"] = torch.exp2(-8 * head / self.HQ)
        return inputs


def load(path: Path) -> list[Work]:
    return [Work(**entry) for entry in json.loads(path.read_text())]


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
