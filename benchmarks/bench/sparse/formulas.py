"""Attention of some rows in fp64."""
from __future__ import annotations

import torch


def score(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Scaled scores of q [rows, heads, D] and k [keys, D]: [rows, heads, keys]."""
    return torch.einsum("rhd,kd->rhk", q.double(), k.double()) * q.shape[-1]**-0.5


def weigh(scores: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    """Softmax over the visible keys, [rows, keys], of [rows, heads, keys]; 0 for rows that see
    nothing."""
    hidden = ~visible[:, None]
    weights = scores.masked_fill(hidden, -float("inf")).softmax(-1)
    return weights.masked_fill(hidden, 0.0)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
           visible: torch.Tensor) -> torch.Tensor:
    """Outputs [rows, heads, DV]."""
    return weigh(score(q, k), visible) @ v.double()


def attend_silu(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                visible: torch.Tensor) -> torch.Tensor:
    """Outputs with silu(s) / D in place of softmax."""
    weights = torch.nn.functional.silu(score(q, k)) / q.shape[-1]
    return weights.masked_fill(~visible[:, None], 0.0) @ v.double()
