"""Inputs of neighbours that agree, or don't, about the blocks that they select."""
from __future__ import annotations

import torch

BLOCK = 64
# Consecutive tokens that share their preference of blocks.
TOPIC_TOKENS = 32
# Rows of a selection that are drawn at once: scores of all would take gigabytes.
CHUNK = 4096
FORCED = 9.0


def draw_selection(kind: str, tokens: int, heads: int, top: int,
                   generator: torch.Generator, block: int = BLOCK) -> torch.Tensor:
    """Blocks for each token and key head: i32 [tokens, heads, top], ascending, padded with -1.

    The first block, the previous one and the token's block are always there. The others are the
    earlier blocks with the greatest scores: for `unrelated` u(token, block), for `related` u(block)
    + 13/n · u(token, block), with u uniform in [0, 1), n blocks, and u(block) redrawn every 32
    tokens, so that neighbours share 86 % of the blocks that aren't forced, 90 % of all. (13 is
    `top` less the forced blocks, where `top` is 16.)
    """
    device, blocks = generator.device, -(-tokens // block)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, device=device)

    chunks = []
    for first in range(0, tokens, CHUNK):
        rows = min(CHUNK, tokens - first)
        scores = draw(rows, heads, blocks)
        if kind == "related":
            common = draw(-(-rows // TOPIC_TOKENS), heads, blocks)
            scores *= (top - 3) / blocks
            scores += common.repeat_interleave(TOPIC_TOKENS, 0)[:rows]
        own = torch.arange(first, first + rows, device=device) // block
        chunks.append(_take_greatest(scores, own, top))
    return torch.cat(chunks)


def _take_greatest(scores: torch.Tensor, own: torch.Tensor, top: int) -> torch.Tensor:
    blocks = scores.shape[-1]
    block, own = torch.arange(blocks, device=scores.device), own[:, None, None]
    scores = scores.masked_fill(block > own, -1.0)
    scores = scores.masked_fill((block == 0) | (block == own) | (block == own - 1), FORCED)
    kept, found = scores.topk(min(top, blocks), dim=-1)
    found = found.masked_fill(kept < 0, blocks).sort(dim=-1).values
    found = found.masked_fill(found == blocks, -1).int()
    return torch.nn.functional.pad(found, (0, top - found.shape[-1]), value=-1)


def draw_tiles(tokens: int, heads: int, top: int, tile: int, block: int,
               generator: torch.Generator) -> torch.Tensor:
    """Blocks at random, a row for `tile` tokens each: i32 [tiles, heads, top], ascending."""
    tiles, blocks = -(-tokens // tile), -(-tokens // block)
    scores = torch.rand(tiles, heads, blocks, generator=generator, device=generator.device)
    return scores.topk(top, dim=-1).indices.sort(dim=-1).values.int()


def draw_queries(kind: str, tokens: int, heads: int, size: int,
                 generator: torch.Generator) -> torch.Tensor:
    """Queries, f32 [tokens, heads, size], each element normal.

    `related` ones are (c + a · e) / √(1 + a²) with c and e normal, c redrawn every 32 tokens, and
    a = 3.2 / √n for n blocks of 64 tokens. Where nsa ranks independent normal keys by them (64
    or 32 tokens pooled, 16 heads of 128), neighbours share 83 to 88 % of their blocks from 4096
    to 65536 tokens. Longer rows have more blocks of nearly equal rank, hence the root.
    """
    shape = (tokens, heads, size)
    noise = torch.randn(shape, generator=generator, device=generator.device)
    if kind != "related":
        return noise
    topics = -(-tokens // TOPIC_TOKENS)
    common = torch.randn((topics, heads, size), generator=generator, device=generator.device)
    amount = find_noise(tokens)
    noise *= amount
    noise += common.repeat_interleave(TOPIC_TOKENS, 0)[:tokens]
    return noise / (1 + amount * amount)**0.5


def find_noise(tokens: int) -> float:
    return 3.2 / (tokens / BLOCK)**0.5


def share(selected: torch.Tensor) -> float:
    """The mean share of a token's blocks that the previous token has, too, from bool [tokens,
    heads, blocks]."""
    both = (selected[1:] & selected[:-1]).sum(-1)
    return float((both / selected[1:].sum(-1)).mean())
