"""Lists of different lengths, counts and unions of selections: the same bits as padded lists."""

from __future__ import annotations

import pytest
import torch

import nsacc
from programs import TARGET, to_device

BLOCK, TOP, TOKENS = 16, 5, 8
ATTEND = "return attend(q, k, v) in {} where j <= i;"
INPUTS = "q: [B, T, HQ, D], k, v: [B, S, H, D]"
PADDED = (f"kernel f({INPUTS}, idx: i32[B, M, H, {{width}}]) -> [B, T, HQ, D] {{{{ "
          + ATTEND.format(f"selection(idx, {BLOCK}, tokens={TOKENS})") + " }}")
COUNTED = (f"kernel f({INPUTS}, idx: i64[B, M, H, {TOP}], n: i32[B, M, H]) -> [B, T, HQ, D] {{ "
           + ATTEND.format(f"selection(idx, {BLOCK}, tokens={TOKENS}, count=n)") + " }")
PACKED = (f"kernel f({INPUTS}, col: i32[B, N, H], ptr: i32[B, P, H]) -> [B, T, HQ, D] {{ "
          + ATTEND.format(f"selection(col, {BLOCK}, tokens={TOKENS}, offsets=ptr, top={TOP})")
          + " }")
HEADS_FIRST = PACKED.replace("col: i32[B, N, H], ptr: i32[B, P, H]",
                             "col: i32[B, H, N], ptr: i32[B, H, P]")
UNION = (f"kernel f({INPUTS}, idx: i32[B, M, H, {TOP}], all: i32[B, W, 1, 2]) -> [B, T, HQ, D] {{ "
         + ATTEND.format(f"union(selection(idx, {BLOCK}, tokens={TOKENS}), "
                         f"selection(all, {BLOCK}, tokens={2 * TOKENS}))") + " }")


def compile_for(source: str, target: str, schedule: str = ""):
    return nsacc.compile(source, target=target, schedule=schedule)


def draw(heads: tuple[int, int], tokens: int, keys: int):
    generator = torch.Generator().manual_seed(tokens)
    q, k, v = (torch.randn(2, length, number, 64, generator=generator).to(torch.bfloat16)
               for length, number in ((tokens, heads[0]), (keys, heads[1]), (keys, heads[1])))
    rows = -(-tokens // TOKENS)
    idx = torch.randint(-1, -(-keys // BLOCK), (2, rows, heads[1], TOP), generator=generator)
    count = torch.randint(0, TOP + 1, (2, rows, heads[1]), generator=generator)
    return (q, k, v), idx, count


def pack(idx: torch.Tensor, count: torch.Tensor):
    """[B, N, H] and [B, P, H], each head's lists behind each other."""
    batch, rows, heads, _ = idx.shape
    ptr = torch.zeros(batch, rows + 1, heads, dtype=torch.int64)
    ptr[:, 1:] = count.cumsum(1)
    col = torch.full((batch, int(ptr.max()) + 3, heads), -9)
    for b in range(batch):
        for row in range(rows):
            for head in range(heads):
                first, number = int(ptr[b, row, head]), int(count[b, row, head])
                col[b, first:first + number, head] = idx[b, row, head, :number]
    return col.int(), ptr.int()


SIZES = [(1, 300), (65, 65), (131, 400), (0, 40)]


@pytest.mark.parametrize("schedule", ["", "order=key_major", "order=block_major"])
@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("heads", [(2, 2), (6, 2), (5, 1), (32, 2)])
def test_counts_and_offsets(heads, target, schedule):
    padded, counted, packed, first = (compile_for(source, target, schedule) for source in (
        PADDED.format(width=TOP), COUNTED, PACKED, HEADS_FIRST))
    for tokens, keys in SIZES:
        qkv, idx, count = draw(heads, tokens, keys)
        exists = torch.arange(TOP) < count[..., None]
        expected = padded(*to_device([*qkv, torch.where(exists, idx, -1).int()]))
        found = counted(*to_device([*qkv, torch.where(exists, idx, 777), count.int()]))
        assert torch.equal(found, expected)
        col, ptr = pack(idx, count)
        assert torch.equal(packed(*to_device([*qkv, col, ptr])), expected)
        turned = [each.transpose(1, 2).contiguous() for each in (col, ptr)]
        assert torch.equal(first(*to_device([*qkv, *turned])), expected)


@pytest.mark.parametrize("schedule", ["", "order=key_major", "order=block_major"])
@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("heads", [(2, 2), (6, 2), (32, 2)])
def test_union(heads, target, schedule):
    padded = compile_for(PADDED.format(width=TOP + 2), target, schedule)
    union = compile_for(UNION, target, schedule)
    for tokens, keys in SIZES:
        qkv, idx, _ = draw(heads, tokens, keys)
        rows = idx.shape[1]
        generator = torch.Generator().manual_seed(5)
        shared = torch.randint(-1, -(-keys // BLOCK), (2, -(-rows // 2), 1, 2),
                               generator=generator)
        spread = shared.repeat_interleave(2, 1)[:, :rows].expand(-1, -1, heads[1], -1)
        both = torch.cat([idx, spread], -1).int()
        expected = padded(*to_device([*qkv, both]))
        assert torch.equal(union(*to_device([*qkv, idx.int(), shared.int()])), expected)


@pytest.mark.parametrize(("place", "value", "message"), [
    ((1, 2, 0), 99, "offset 'ptr' at [1, 2, 0] is 99, but must be 0 to"),
    ((0, 1, 1), -1, "offset 'ptr' at [0, 1, 1] is -1, but must be 0 to"),
])
def test_bad_offsets(place, value, message):
    qkv, idx, count = draw((6, 2), 65, 65)
    col, ptr = pack(idx, count)
    ptr[place] = value
    program = compile_for(PACKED, TARGET)
    with pytest.raises(nsacc.errors.ArgumentError) as error:
        program(*to_device([*qkv, col, ptr]))
        torch.cuda.synchronize()
        program.check()
    assert message in str(error.value)
