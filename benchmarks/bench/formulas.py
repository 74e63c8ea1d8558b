"""The programs' formulas in PyTorch, eager, for a range of queries."""
from __future__ import annotations

import torch

from .works import BLOCK, LEN, STRIDE, TOP, WINDOW

Tensors = dict[str, torch.Tensor]
INF = float("inf")


def pool(keys: torch.Tensor) -> torch.Tensor:
    """Means of LEN tokens, every STRIDE: [S, H, D] -> [P, H, D]."""
    return keys.unfold(0, LEN, STRIDE).mean(dim=-1)


def _softmax(scores: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    probs = torch.softmax(scores.masked_fill(~visible, -INF), dim=-1)
    return probs.nan_to_num(0.0)


def flash(t: Tensors, first: int, last: int) -> torch.Tensor:
    """Queries [first, last): [n, HQ, D]."""
    q, k, v = t["q"][first:last], t["k"][:last], t["v"][:last]
    n, heads, size = q.shape
    group = heads // k.shape[1]
    q = q.view(n, -1, group, size)
    scores = torch.einsum("nhgd,shd->hgns", q, k) * size**-0.5
    i = torch.arange(first, last)[:, None]
    probs = _softmax(scores, torch.arange(last)[None, :] <= i)
    return torch.einsum("hgns,shd->nhgd", probs, v).reshape(n, heads, size)


def _importance(probs: torch.Tensor, blocks: int) -> torch.Tensor:
    """Sums over the group; pooled keys count by how much of the block they cover."""
    summed = probs.sum(dim=1)  # h n p
    per = BLOCK // STRIDE
    padded = torch.nn.functional.pad(summed, (1, blocks * per + 1 - summed.shape[-1]))
    windows = padded.unfold(-1, per + 1, per)  # entries per·n - 1 … per·n + per - 1
    weights = torch.full((per + 1,), 2.0, dtype=probs.dtype)
    weights[0] = weights[-1] = 1.0
    return (windows * weights).sum(dim=-1)


def select(probs: torch.Tensor, first: int, last: int,
           total: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks that each query selects, -1 behind them, and how clear the choice was."""
    blocks = -(-total // BLOCK)
    importance = _importance(probs, blocks)
    i = torch.arange(first, last)[:, None]
    n = torch.arange(blocks)[None, :]
    # A block is a candidate once a pooled key that meets it is over.
    seen = (n * BLOCK // STRIDE - 1).clamp(min=0) * STRIDE + LEN <= i
    own = i // BLOCK
    forced = (n == 0) | ((own - n >= 0) & (own - n < 2))
    ranked = importance.masked_fill(~seen[None], -INF).masked_fill(forced[None], INF)
    top = ranked.topk(min(TOP + 1, blocks), dim=-1)
    gap = torch.full(ranked.shape[:-1], INF, dtype=probs.dtype)
    if blocks > TOP:
        least, next_one = top.values[..., TOP - 1], top.values[..., TOP]
        # NaN: neither is there, or both are forced.
        gap = ((least - next_one) / least.abs().clamp(min=1e-30)).nan_to_num(INF, posinf=INF)
    values, indices = top.values[..., :TOP], top.indices[..., :TOP]
    return indices.masked_fill(values == -INF, -1), gap


def nsa(t: Tensors, first: int, last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries [first, last): [n, HQ, D], and the clearness of their selections, [H, n]."""
    q, k, v = t["q"][first:last], t["k"], t["v"]
    n, heads, size = q.shape
    total, key_heads = k.shape[0], k.shape[1]
    group, scale = heads // key_heads, size**-0.5
    q = q.view(n, key_heads, group, size)
    i = torch.arange(first, last)

    scores = torch.einsum("nhgd,phd->hgnp", q, t["kc"]) * scale
    ends = torch.arange(t["kc"].shape[0]) * STRIDE + LEN
    probs = _softmax(scores, ends[None, :] <= i[:, None])
    cmp = torch.einsum("hgnp,phd->nhgd", probs, t["vc"])

    chosen, gap = select(probs, first, last, total)  # h n b
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


def prepare(t: Tensors, work: str) -> Tensors:
    """What is computed once for all queries."""
    return t | {"kc": pool(t["k"]), "vc": pool(t["v"])} if work == "nsa" else t
