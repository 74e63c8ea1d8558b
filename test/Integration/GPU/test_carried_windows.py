"""Windows that neighbouring blocks share, scored once or for each block: the same bits
(docs/Schedules.md, `halo`).
"""

from __future__ import annotations

import pytest
import torch

import nsacc
from programs import TARGET, to_device

# Length and stride of windows, and the block: several tiles of blocks in few tokens.
SHAPES = [(32, 16, 32), (64, 16, 64), (16, 8, 16), (12, 4, 8)]


def select(shape: tuple[int, int, int], schedule: str, target: str,
           block_map: str) -> nsacc.Program:
    length, stride, block = shape
    return nsacc.compile(f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> i32[B, T, H, N] {{
      a = attend(q, pool(k, {length}, {stride})) where end(j) <= i;
      sel = topk(blocks(prob(a), {block}{block_map}), 16) keep first 1, last 2;
      return indices(sel); }}""", target=target, schedule=schedule)


@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("block_map", ["", ", map=max"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
# With 8 heads or more, lanes have the lists; with 2 and 5, shared memory and registers.
@pytest.mark.parametrize("group", [1, 2, 5, 8, 16, 24, 64])
def test_both_select_alike(group, shape, block_map, target):
    generator = torch.Generator().manual_seed(group)
    programs = [select(shape, f"sel: halo={halo}", target, block_map)
                for halo in ("carry", "recompute")]
    chosen = select(shape, "", target, block_map)
    for tokens in (1, 65, 2100, 4097):
        inputs = to_device([torch.randn(size, generator=generator, dtype=torch.float32).bfloat16()
                            for size in ((1, tokens, group, 64), (1, tokens, 1, 64))])
        carried, again = (program(*inputs) for program in programs)
        assert torch.equal(carried, again)
        assert torch.equal(chosen(*inputs), again)
        assert (again >= 0).sum(-1).max() == min(16, -(-tokens // shape[2]))


@pytest.mark.parametrize("target", [TARGET, "sm_80"])
def test_many_times_the_same(target):
    generator = torch.Generator().manual_seed(3)
    inputs = to_device([torch.randn(size, generator=generator, dtype=torch.float32).bfloat16()
                        for size in ((2, 3000, 32, 128), (2, 3000, 2, 128))])
    program = select((32, 16, 64), "", target, "")
    first = program(*inputs)
    for _ in range(100):
        assert torch.equal(program(*inputs), first)
