"""Attention block by block of a selection: tokens are gathered, and their states merged."""

from __future__ import annotations

import pytest
import torch

import nsacc
from oracle import agrees
from programs import EXAMPLES, TARGET, Case, to_device

# Blocks of 256 keys and more take this order on sm_90a by default.
LONG = [Case(name, dtype, heads=heads, channels=channels, params=(("block", block), ("top", top)))
        for name, dtype, block, top in (
            ("moba", "bf16", 256, 3), ("moba", "f16", 512, 2), ("block_sparse", "bf16", 333, 5),
            ("block_sparse", "bf16", 1024, 2), ("moba", "bf16", 320, 9))
        for heads, channels in (((1, 1), (64, 64)), ((6, 2), (128, 128)), ((5, 1), (64, 40)),
                                ((7, 1), (128, 64)), ((16, 1), (128, 128)), ((24, 2), (64, 64)))]
GIVEN = [Case.small(name, dtype=dtype, schedule=f"order=key_major{rest}", target=target,
                    heads=heads)
         for name in ("moba", "block_sparse", "hstu_bsa", "nsa_pooled_weights")
         for dtype, target, heads in (("f32", "cuda", (6, 2)), ("bf16", "sm_80", (4, 2)),
                                      ("f16", "cuda", (3, 1)))
         for rest in ("", ",tokens=24,keys=16;*.merge:tokens=3", ",tokens=64,keys=64,warps=4")
         if name != "hstu_bsa" or heads[0] == 4]


@pytest.mark.parametrize("case", [*LONG, *GIVEN], ids=str)
def test_lengths(case):
    for tokens in (1, 65, 700):
        agrees(case, tokens=tokens)
    if not case.is_ragged:
        for tokens, keys in ((0, 5), (5, 0), (1, 1111), (130, 2100), (600, 513)):
            agrees(case, tokens=tokens, keys=keys)


def inputs(tokens: int, keys: int, heads: tuple[int, int], top: int, blocks: int):
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, length, number, 64, generator=generator).to(torch.bfloat16)
               for length, number in ((tokens, heads[0]), (keys, heads[1]), (keys, heads[1])))
    # Some blocks are selected by no token.
    idx = torch.stack([torch.randperm(blocks + 1, generator=generator)[:top] - 1
                       for _ in range(2 * tokens * heads[1])])
    return q, k, v, idx.view(2, tokens, heads[1], top).to(torch.int32)


def run(values, *, target: str):
    program = nsacc.compile(EXAMPLES / "block_sparse.nsa", target=target,
                            params={"block": 256, "top": values[3].shape[-1]})
    return program(*(values if target == "oracle" else to_device(values)))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_only_rows_that_select_it_see_a_value(value):
    values = inputs(900, 900, (6, 2), 3, 4)
    clean = run(values, target=TARGET)
    values[2][1, 600, 1, 3] = value
    expected, found = run(values, target="oracle"), run(values, target=TARGET)
    assert torch.equal(torch.isfinite(found.cpu()), torch.isfinite(expected))
    assert not torch.isfinite(expected).all()
    same = torch.isfinite(expected).all(-1)
    assert torch.allclose(found.cpu()[same].double(), expected[same].double(), rtol=2e-2, atol=2e-2)
    # Repairing a row may change its neighbours, but only in the same batch row and key head.
    assert torch.equal(found[0], clean[0])
    assert torch.equal(found[1, :, :3], clean[1, :, :3])


def test_sums_of_any_size():
    """A block's values may be 2^60 times another's: sums in 16 bits have a scale for each row."""
    values = inputs(900, 900, (6, 2), 1, 4)
    for block, exponent in enumerate((60, -60, 0, 30)):
        values[2][:, 256 * block:256 * (block + 1)] *= 2.0**exponent
    expected = run(values, target="oracle").double()
    found = run(values, target=TARGET).cpu().double()
    greatest = expected.abs().amax(-1, keepdim=True)
    assert ((found - expected).abs() <= 2.0**-7 * expected.abs() + 2.0**-8 * greatest).all()


@pytest.mark.parametrize("heads", [(4, 4), (12, 4)])
def test_the_same_bits_every_time(heads):
    values = to_device(inputs(3001, 3001, heads, 5, 12))
    program = nsacc.compile(EXAMPLES / "block_sparse.nsa", target=TARGET,
                            params={"block": 256, "top": 5})
    first = program(*values)
    assert all(torch.equal(first, program(*values)) for _ in range(100))


def test_everything_is_of_one_block_or_of_none():
    """All tokens in one list, and lists without an entry."""
    values = inputs(1500, 1500, (4, 2), 2, 6)
    for filled in (0, -1):
        values[3].fill_(-1)
        values[3][..., 1] = filled
        expected, found = run(values, target="oracle"), run(values, target=TARGET)
        assert torch.allclose(found.cpu().double(), expected.double(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("batch, tokens, heads", [
    (2, 3001, (4, 4)),  # some tokens of a key head
    (2, 3001, (12, 4)),
    (1, 1100, (16, 16)),  # some key heads
    (9, 1300, (4, 2)),  # some batch rows, fewer in the last slice
    (1, 5000, (16, 1))])
@pytest.mark.parametrize("target", [TARGET, "sm_80"])
def test_chunks_are_the_same_bits(batch, tokens, heads, target):
    """States in parts of some MiB, and all at once (2 GiB)."""
    values = inputs(tokens, tokens, heads, 5, -(-tokens // 256))
    values = to_device([each[:1].expand(batch, *each.shape[1:]).clone() for each in values])
    values[0] += torch.arange(batch, device=values[0].device).view(-1, 1, 1, 1)
    whole, *parts = (nsacc.compile(EXAMPLES / "block_sparse.nsa", target=target,
                                   params={"block": 256, "top": 5},
                                   schedule=f"order=key_major{chunk}")
                     for chunk in ("", ",chunk=1", ",chunk=3", ",chunk=9"))
    expected, all_states = whole.run_timed(values)
    for part in parts:
        found, timing = part.run_timed(values)
        assert torch.equal(found, expected)
        assert all(torch.equal(part(*values), expected) for _ in range(10))
        assert timing.workspace_bytes < all_states.workspace_bytes
    # Rows that are repaired, in several chunks.
    values[2][-1, ::257, -1, 3] = float("inf")
    expected, found = whole(*values), parts[0](*values)
    assert torch.equal(torch.isfinite(found), torch.isfinite(expected))
    assert not torch.isfinite(expected).all()
    same = torch.isfinite(expected)
    assert torch.allclose(found[same].double(), expected[same].double(), rtol=2e-2, atol=2e-2)


def test_chunks_beside_other_attentions():
    """A program that computes other attentions, too, merges states part by part."""
    case = Case("nsa", schedule="slc: order=key_major,chunk=1", heads=(12, 2))
    for tokens in (300, 1500):
        agrees(case, tokens=tokens)
