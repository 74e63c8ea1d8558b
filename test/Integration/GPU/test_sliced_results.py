"""Outputs of attentions with separate programs, in slices of batch rows and tokens: the same bits
as in one slice. CPUs are in ../Python/test_result_slices.py."""

from __future__ import annotations

import pytest
import torch

import nsacc
from programs import EXAMPLES, TARGET, to_device


def inputs(batch: int, tokens: int, heads: tuple[int, int], dtype: torch.dtype):
    generator = torch.Generator().manual_seed(tokens)
    q, k, v = (torch.randn(batch, tokens, number, 128, generator=generator).to(dtype)
               for number in (heads[0], heads[1], heads[1]))
    return q, k, v, *(torch.rand(batch, tokens, heads[0], generator=generator) for _ in range(3))


@pytest.mark.parametrize("schedule", ["cmp: program=own", "cmp: program=own; swa: program=own",
                                      "cmp: program=own; sel: method=threshold"])
@pytest.mark.parametrize("heads, dtype", [((64, 4), torch.bfloat16), ((64, 64), torch.bfloat16),
                                          ((48, 16), torch.float16), ((16, 4), torch.float32)],
                         ids=str)
def test_results_are_the_same_bits(schedule, heads, dtype):
    name = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}[dtype]
    whole, cut = (nsacc.compile(EXAMPLES / "nsa.nsa", target=TARGET, dtype=name,
                                schedule=f"chunk={chunk}; {schedule}") for chunk in (65536, 1))
    for batch, tokens in ((1, 1), (2, 0), (1, 769), (3, 250), (2, 1201)):
        values = to_device(inputs(batch, tokens, heads, dtype))
        assert torch.equal(whole(*values), cut(*values)), (batch, tokens)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_rows_that_are_computed_again(value):
    """An exact program reads the results of its slice's programs."""
    whole, cut = (nsacc.compile(EXAMPLES / "nsa.nsa", target=TARGET, dtype="bf16",
                                schedule=f"chunk={chunk}; cmp: program=own; swa: program=own")
                  for chunk in (65536, 1))
    values = inputs(2, 900, (64, 4), torch.bfloat16)
    values[2][1, 600, 1, 3] = value
    expected, found = (program(*to_device(values)).cpu() for program in (whole, cut))
    assert torch.equal(expected.isfinite(), found.isfinite())
    assert not expected.isfinite().all()
    assert torch.equal(expected.nan_to_num(), found.nan_to_num())
