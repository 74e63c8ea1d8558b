"""The meaning of programs, by their names: the visible pairs, and changes of their scores. The same
functions serve the reference in fp64 and FlexAttention."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ..gpu.works import Tensors
    from .works import Work

Index = torch.Tensor
INF = float("inf")


def make_mask(work: Work) -> Callable[[Index, Index], torch.Tensor] | None:
    """Whether query i sees key j; None if all do."""
    if work.pattern == "full":
        return None
    if work.pattern in ("flash", "softcap_alibi"):
        return lambda i, j: j <= i
    if work.pattern == "window":
        width = int(work.params["window"])
        return lambda i, j: (j <= i) & (i - j < width)
    raise ValueError(f"{work.id}: no formula for {work.program}")


def make_score(work: Work, inputs: Tensors) \
        -> Callable[[torch.Tensor, Index, Index, Index], torch.Tensor] | None:
    """The score of head h, query i and key j; None if it isn't changed."""
    if work.pattern != "softcap_alibi":
        return None
    cap, slope = work.params["cap"], inputs["slope"]
    return lambda s, h, i, j: cap * torch.tanh(s / cap) + slope[h] * (j - i)


def attend(work: Work, inputs: Tensors, batch: int, head: int, first: int,
           last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries [first, last) of one head in fp64: output [n, DV] and log-sum-exp [n]."""
    key_head = head // (work.HQ // work.H)
    q = inputs["q"][batch, first:last, head].double()
    k, v = (inputs[name][batch, :, key_head].double() for name in "kv")
    i = torch.arange(first, last, device=q.device)[:, None] + work.past
    j = torch.arange(work.S, device=q.device)[None, :]
    scores = q @ k.T * work.D**-0.5
    mask, score = make_mask(work), make_score(work, inputs)
    if score is not None:
        scores = score(scores, torch.tensor(head, device=q.device), i, j)
    if mask is not None:
        scores = scores.masked_fill(~mask(i, j), -INF)
    return torch.softmax(scores, dim=-1) @ v, torch.logsumexp(scores, dim=-1)
