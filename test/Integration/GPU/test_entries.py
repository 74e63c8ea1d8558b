"""Declared pooled keys that share no token with a block need no value ([R20] of docs/spec.md)."""

import pytest
import torch

import nsacc
from nsacc.errors import ArgumentError
from programs import TARGET, to_device

SOURCE = """
kernel f(q: [B, T, HQ, D], k: [B, S, H, D], kc: [B, N, H, D], w: f32[S]) -> [B, T, HQ, D] {
  p = IMPORTANCE(attend(q, pooled(kc, 16, 16)) score s + w[start(j)]);
  return attend(q, k, k) in topk(p, 4);
}"""


def draw(tokens: int, entries: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = (70, 4), (tokens, 2), (entries, 2)
    tensors = [torch.randn((2, rows, heads, 64), generator=generator).to(torch.bfloat16)
               for rows, heads in shapes]
    return [*tensors, torch.zeros(tokens)]


@pytest.mark.parametrize("tokens, entries", [(0, 3), (200, 70), (1024, 65), (1024, 64)])
def test_selections_alone_ask_for_no_more(tokens, entries):
    inputs = draw(tokens, entries)
    source = SOURCE.replace("IMPORTANCE", "score")
    found = nsacc.compile(source, target=TARGET)(*to_device(inputs)).cpu().double()
    wanted = nsacc.compile(source, target="oracle")(*inputs).double()
    rows = (found - wanted).abs().amax((-1, -2)) > 3e-2
    assert rows.sum() <= 2  # near ties


@pytest.mark.parametrize("tokens, entries", [(0, 3), (1024, 65)])
def test_sums_of_exponentials_ask_for_all(tokens, entries):
    program = nsacc.compile(SOURCE.replace("IMPORTANCE", "prob"), target=TARGET)
    program(*to_device(draw(tokens, entries)))
    torch.cuda.synchronize()
    with pytest.raises(ArgumentError, match="table 'w' is read at"):
        program.check()
