"""Values that aren't finite: they reach the rows that see them, and no others."""

import pytest
import torch

import nsacc
from programs import TARGET, compile_example, make_inputs, to_device

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


PADDED = """kernel padded(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], n: i32[B])
    -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ])
{
  a = attend(q, k, v) where j < n[b];
  return a, lse(a);
}"""


@pytest.mark.parametrize("schedule", ["splits=1", "splits=auto", "splits=7", "splits=5, keys=80",
                                      "splits=3, tokens=64, keys=48; *.exact: tokens=16"])
@pytest.mark.parametrize("tokens", [1, 70])
def test_parts_of_keys_are_repaired(tokens, schedule):
    """Values behind a cache's end aren't finite, in some parts of the keys; and one visible value
    isn't."""
    keys, filled = 1111, (700, 1111, 3)
    generator = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(shape, generator=generator).to(torch.bfloat16)
               for shape in [(3, tokens, 4, 64), (3, keys, 2, 64), (3, keys, 2, 64)])
    for row, end in enumerate(filled):
        k[row, end:], v[row, end:] = float("nan"), float("inf")
    v[1, 900, 1, 7] = float("inf")
    n = torch.tensor(filled, dtype=torch.int32)
    expected = nsacc.compile(PADDED, target="oracle")(q, k, v, n)
    found = nsacc.compile(PADDED, target=TARGET, schedule=schedule)(*to_device([q, k, v, n]))
    for wanted, each in zip(expected, found, strict=True):
        each = each.cpu().double()
        assert torch.equal(torch.isfinite(each), torch.isfinite(wanted))
        assert torch.allclose(each, wanted.double(), rtol=2e-2, atol=2e-2)
