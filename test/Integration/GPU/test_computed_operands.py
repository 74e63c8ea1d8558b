"""Computed tensors as counts, indices, queries and pooling weights, and values that many read."""

from __future__ import annotations

import pytest
import torch

import nsacc
from programs import TARGET, run_all, to_device

INPUTS = ("q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, D], n: i32[B, T, H], "
          "w: f32[16]")
CHAIN = "x0 = attend(q, k, v); x1 = x0 * 1; " + "".join(
    f"x{i + 2} = (x{i + 1} + x{i}) * 0.5; " for i in range(40))

BODIES = {
    "count": "return attend(q, k, v) in topk(prob(attend(q, pool(k, 16))), 4) count min(n, 3);",
    "indices": "chosen = topk(prob(attend(q, pool(k, 16))), 4); "
               "return attend(q, k, v) in selection(indices(chosen), 16) where j <= i;",
    "query": "return attend(q * 2, k + 0, v * 0.5) where j <= i;",
    "weights": "return attend(q, pool(k, 16, by=w * 2), pool(v, 16)) where end(j) <= i;",
    "heads": "gist = attend(q, pool(k, 4, 2), pool(v, 4, 2)) where end(j) <= i; "
             "sel = topk(blocks(prob(gist), 16), 2) share heads 2; "
             "return attend(q, k, v) in sel where j <= i;",
    "shared": CHAIN + "return x41;",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 127])
def test_computed_operands(name: str, tokens: int) -> None:
    source = f"kernel f({INPUTS}) -> f32[B, T, HQ, D] {{ {BODIES[name]} }}"
    generator = torch.Generator().manual_seed(tokens)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    inputs = [normal(1, tokens, 6, 32), normal(1, tokens, 2, 32), normal(1, tokens, 2, 32),
              torch.randint(0, 5, (1, tokens, 2), generator=generator, dtype=torch.int32),
              normal(16)]
    exact = nsacc.compile(source, target="oracle")(*inputs)
    found = run_all(nsacc.compile(source, target=TARGET), to_device(inputs))[0].cpu()
    torch.testing.assert_close(found, exact, rtol=2e-2, atol=2e-2)
