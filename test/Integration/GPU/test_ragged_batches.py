"""Rows of a batch packed behind each other: empty, of one token, of many, of more keys."""

import pytest
import torch

import nsacc
from oracle import agrees
from programs import TARGET, Case, run_all, to_device

EQUAL = [
    [], [0], [1], [0, 0, 0], [64], [127, 0, 0, 2], [0, 65, 0, 129, 0], [63, 1, 64, 65, 2, 128, 3],
    [1] * 300, [5, 0] * 80, [3] * 2000, [700, 1, 300],
]
UNEQUAL = [
    [(1, 1000)], [(1, 64), (1, 127), (1, 0), (1, 300)], [(0, 65), (65, 0), (64, 65)],
    [(130, 40), (2, 1), (300, 129)], [(3, 257)] * 50,
]
ROWS = [[(tokens, tokens) for tokens in row] for row in EQUAL] + UNEQUAL
OWN = ("ragged_flash", "ragged_full", "ragged_band", "ragged_moba")
CASES = [Case.small("hstu_bsa"), Case("hstu_bsa")] + [
    Case(name, heads=heads, channels=channels) for name in OWN
    for heads, channels in [((4, 2), (64, 64)), ((3, 1), (128, 128))]] + [
    Case(name, target="sm_80") for name in OWN]


def name_rows(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    shown = ",".join(f"{tokens}/{keys}" for tokens, keys in value[:7])
    return f"[{shown}{',…' if len(value) > 7 else ''}]"


@pytest.mark.parametrize("case, rows", [
    (case, rows) for case in CASES for rows in ROWS
    if case.name != "hstu_bsa" or rows not in UNEQUAL], ids=name_rows)
def test_rows(case, rows):
    agrees(case, rows=rows)


@pytest.mark.parametrize("target", dict.fromkeys((TARGET, "sm_80")))
@pytest.mark.parametrize("tail", ["average", "zeros_right"])
@pytest.mark.parametrize("window, block", [("4, 4", 3), ("4, 2", 3), ("64, 64", 16)])
def test_blocks_end_with_the_row(window, block, tail, target):
    """The last window of a row reaches behind its last block; another row has blocks there."""
    source = (f"kernel f(q: f32[ragged T, HQ, D], k: f32[ragged S, H, D]) -> f32[ragged T, H, N] "
              f"{{ return blocks(prob(attend(q, pool(k, {window}, tail={tail}))), {block}); }}")
    rows = [(2, 37), (0, 9), (3, 78), (1, 1), (65, 70), (2, 0)]
    offsets = [torch.tensor([0, *column], dtype=torch.int32).cumsum(0).int()
               for column in zip(*rows)]
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(int(offsets[0][-1]), 4, 64, generator=generator),
              torch.randn(int(offsets[1][-1]), 2, 64, generator=generator), *offsets]
    expected = nsacc.compile(source, target="oracle")(*inputs)
    found = run_all(nsacc.compile(source, target=target), to_device(inputs))[0].cpu()
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
