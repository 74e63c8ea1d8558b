"""Values that aren't finite: who sees them gets them, and nobody else."""

import pytest
import torch

from programs import compile_example, make_inputs, to_device

TOKENS, BAD = 300, 150


def flash_with(value: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Results without and with one value of one key that isn't finite, in the first batch row."""
    program = compile_example("flash")
    inputs = make_inputs("flash", TOKENS)
    clean = program(*to_device(inputs))[0]
    inputs[2][0, BAD, 1, 3] = value
    return clean, program(*to_device(inputs))[0]


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_only_rows_that_see_it(value):
    clean, dirty = flash_with(value)
    heads = clean.shape[2] // 2
    seen = torch.zeros(clean.shape, dtype=torch.bool, device=clean.device)
    seen[0, BAD:, heads:, 3] = True
    expected = torch.tensor(value, dtype=dirty.dtype, device=dirty.device)
    assert torch.equal(torch.isnan(dirty[seen]), torch.isnan(expected).expand(int(seen.sum())))
    if value == value:
        assert (dirty[seen] == expected).all()
    assert torch.isfinite(dirty[~seen]).all()
    error = (dirty[~seen].double() - clean[~seen].double()).abs().max()
    assert error <= 2e-2


def test_neighbours_in_the_batch_keep_their_bits():
    clean, dirty = flash_with(float("inf"))
    assert torch.equal(clean[1], dirty[1])
    assert torch.equal(clean[0, :, :2], dirty[0, :, :2])


def test_everything_infinite():
    program = compile_example("flash")
    inputs = make_inputs("flash", TOKENS)
    inputs[2].fill_(float("inf"))
    assert (program(*to_device(inputs))[0] == float("inf")).all()
