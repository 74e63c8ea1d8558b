"""The programs' formulas in PyTorch, eager, for a range of queries."""
from __future__ import annotations

import torch

from .works import BLOCK, TOP, WINDOW, Work

Tensors = dict[str, torch.Tensor]
INF = float("inf")


def pool(keys: torch.Tensor, work: Work) -> torch.Tensor:
    """Means of `len` tokens, every `stride`: [S, H, D] -> [P, H, D]."""
    return keys.unfold(0, work.len, work.stride).mean(dim=-1)


def _softmax(scores: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    probs = torch.softmax(scores.masked_fill(~visible, -INF), dim=-1)
    return probs.nan_to_num(0.0)


def flash(t: Tensors, first: int, last: int, work: Work) -> torch.Tensor:
    """Queries [first, last): [n, HQ, D]."""
    q, k, v = t["q"][first:last], t["k"][:last], t["v"][:last]
    n, heads, size = q.shape
    group = heads // k.shape[1]
    q = q.view(n, -1, group, size)
    scores = torch.einsum("nhgd,shd->hgns", q, k) * size**-0.5
    i = torch.arange(first, last)[:, None]
    probs = _softmax(scores, torch.arange(last)[None, :] <= i)
    return torch.einsum("hgns,shd->nhgd", probs, v).reshape(n, heads, size)


def _importance(probs: torch.Tensor, blocks: int, work: Work) -> torch.Tensor:
    """Sums over the group; pooled keys count by how much of the block they cover."""
    start = torch.arange(probs.shape[-1])[:, None] * work.stride
    block = torch.arange(blocks)[None, :] * BLOCK
    covered = torch.minimum(start + work.len, block + BLOCK) - torch.maximum(start, block)
    weights = covered.clamp(min=0).to(probs.dtype) / work.stride
    return probs.sum(dim=1) @ weights  # h n p, p b


def select(probs: torch.Tensor, first: int, last: int, total: int,
           work: Work) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks that each query selects, -1 behind them, and the clearness of the choice."""
    blocks = -(-total // BLOCK)
    importance = _importance(probs, blocks, work)
    i = torch.arange(first, last)[:, None]
    n = torch.arange(blocks)[None, :]
    # A block is a candidate after the end of a pooled key that meets it.
    earliest = ((n * BLOCK - work.len) // work.stride + 1).clamp(min=0)
    seen = earliest * work.stride + work.len <= i
    own = i // BLOCK
    forced = (n == 0) | ((own - n >= 0) & (own - n < 2))
    ranked = importance.masked_fill(~seen[None], -INF).masked_fill(forced[None], INF)
    top = ranked.topk(min(TOP + 1, blocks), dim=-1)
    gap = torch.full(ranked.shape[:-1], INF, dtype=probs.dtype)
    if blocks > TOP:
        least, next_one = top.values[..., TOP - 1], top.values[..., TOP]
        # NaN: both are absent, or both are forced.
        gap = ((least - next_one) / least.abs().clamp(min=1e-30)).nan_to_num(INF, posinf=INF)
    values, indices = top.values[..., :TOP], top.indices[..., :TOP]
    return indices.masked_fill(values == -INF, -1), gap


def nsa(t: Tensors, first: int, last: int, work: Work) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries [first, last): [n, HQ, D], and the clearness of their selections, [H, n]."""
    q, k, v = t["q"][first:last], t["k"], t["v"]
    n, heads, size = q.shape
    total, key_heads = k.shape[0], k.shape[1]
    group, scale = heads // key_heads, size**-0.5
    q = q.view(n, key_heads, group, size)
    i = torch.arange(first, last)

    scores = torch.einsum("nhgd,phd->hgnp", q, t["kc"]) * scale
    ends = torch.arange(t["kc"].shape[0]) * work.stride + work.len
    probs = _softmax(scores, ends[None, :] <= i[:, None])
    cmp = torch.einsum("hgnp,phd->nhgd", probs, t["vc"])

    chosen, gap = select(probs, first, last, total, work)  # h n b
    slots = (chosen.clamp(min=0)[..., None] * BLOCK + torch.arange(BLOCK)).flatten(-2)
    visible = (chosen[..., None] >= 0).expand(*chosen.shape, BLOCK).flatten(-2)
    visible = visible & (slots <= i[None, :, None])
    slots = slots.clamp(max=total - 1)
    head = torch.arange(key_heads)[:, None, None]
    near_k, near_v = k[slots, head], v[slots, head]  # h n s d
    scores = torch.einsum("nhgd,hnsd->hgns", q, near_k) * scale
    slc = torch.einsum("hgns,hnsd->nhgd", _softmax(scores, visible[:, None]), near_v)

    low = max(0, first - WINDOW + 1)
    j = torch.arange(low, last)[None, :]
    scores = torch.einsum("nhgd,shd->hgns", q, k[low:last]) * scale
    inside = (j <= i[:, None]) & (i[:, None] - j < WINDOW)
    swa = torch.einsum("hgns,shd->nhgd", _softmax(scores, inside), v[low:last])

    gates = [t[name][first:last, :, None] for name in ("g_cmp", "g_slc", "g_swa")]
    branches = [branch.reshape(n, heads, size) for branch in (cmp, slc, swa)]
    return sum(gate * branch for gate, branch in zip(gates, branches, strict=True)), gap


def prepare(t: Tensors, work: Work) -> Tensors:
    """Values that are computed once for all queries."""
    if work.work != "nsa":
        return t
    return t | {"kc": pool(t["k"], work), "vc": pool(t["v"], work)}
