"""Attention block by block of a selection (order=key_major): sums of bf16 values, which are kept in
f16 with a scale for each row, and values that aren't finite. Lengths, groups and ragged rows are in
test_selections_handed_in.py, GPUs in test_inverted.py."""

from __future__ import annotations

import pytest
import torch

import nsacc
from harness import EXAMPLES

BLOCK = 16
DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}


def inputs(tokens: int, top: int, dtype: torch.dtype):
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, tokens, heads, 8, generator=generator).to(dtype)
               for heads in (6, 2, 2))
    blocks = -(-tokens // BLOCK)
    idx = torch.stack([torch.randperm(blocks + 1, generator=generator)[:top] - 1
                       for _ in range(2 * tokens * 2)])
    return [q, k, v, idx.view(2, tokens, 2, top).to(torch.int32)]


def run(values, *, target: str, schedule: str = "order=key_major"):
    program = nsacc.compile(EXAMPLES / "block_sparse.nsa", target=target,
                            dtype=DTYPES[values[0].dtype],
                            schedule="" if target == "oracle" else schedule,
                            params={"block": BLOCK, "top": values[3].shape[-1]})
    return program(*values)


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.get)
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_only_rows_that_select_it_see_a_value(value, dtype):
    values = inputs(100, 3, dtype)
    clean = run(values, target="cpu")
    values[2][1, 40, 1, 3] = value
    expected, found = run(values, target="oracle"), run(values, target="cpu")
    assert torch.equal(torch.isfinite(found), torch.isfinite(expected))
    assert not torch.isfinite(expected).all()
    same = torch.isfinite(expected).all(-1)
    assert torch.equal(found[same], clean[same])


@pytest.mark.parametrize("top", [1, 3])
def test_sums_of_any_size(top):
    """A block's values may be 2^60 times another's. A row of one block has its digits; a row of
    several has the greatest block's."""
    values = inputs(100, top, torch.bfloat16)
    for block, exponent in enumerate((60, -60, 0, 30, -100, 100, 7)):
        values[2][:, BLOCK * block:BLOCK * (block + 1)] *= 2.0**exponent
    expected, found = run(values, target="oracle").double(), run(values, target="cpu").double()
    greatest = expected.abs().amax(-1, keepdim=True)
    bound = 2.0**-7 * expected.abs() + 2.0**-8 * greatest + 2.0**-114
    assert ((found - expected).abs() <= bound).all()


def test_rows_that_select_nothing():
    values = inputs(70, 2, torch.bfloat16)
    values[3].fill_(-1)
    assert (run(values, target="cpu") == 0).all()
    values[3][..., 1] = 0
    expected, found = run(values, target="oracle"), run(values, target="cpu")
    assert torch.allclose(found.double(), expected.double(), rtol=2e-2, atol=2e-2)
