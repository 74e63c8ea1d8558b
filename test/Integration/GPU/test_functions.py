"""Every scalar function, in every place where it may stand, against the oracle."""

from __future__ import annotations

import functools
import math
import re

import pytest
import torch

import nsacc
from oracle import check
from programs import TARGET, Case, run_all, to_device
from waiting import wait

REALS = ["exp(x)", "exp2(x)", "log(x)", "log2(x)", "sqrt(x)", "tanh(x)", "sin(x)", "cos(x)",
         "erf(x)", "abs(x)", "sigmoid(x)", "silu(x)", "relu(x)", "gelu(x)", "softcap(x, 5.0)",
         "floor(x)", "min(x, y)", "max(x, y, 0.5)", "pow(x, y)", "pow(x, 2.0)", "pow(x, -1.5)",
         "pow(2.0, y)", "select(x < y, x, y)"]
INTEGERS = ["abs(m)", "min(m, n)", "max(m, n, 3)", "m floordiv n", "m ceildiv n", "m mod n",
            "int(x)", "int(pow(float(m mod 7), 2.0))"]
POSITIVE = ("log", "sqrt", "pow")
"""Functions of numbers that aren't negative."""
PLACES = {
    "where": "attend(q, k, v) where j < 3 or {f} < 0.25",
    "score": "attend(q, k, v) score s + 0.1 * {f}",
    "weight": "attend(q, k, v) weight 0.1 * {f}",
    "normalize": "attend(q, k, v) weight abs(s) normalize 2.0 + abs({f})",
    "sink": "attend(q, k, v) sink {f}",
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5, 33.0, 88.0, -87.0, 100.0,
           -126.0, 127.0, 1e5, -1e5, 1e7, 3e38, -3e38, 1e-30, math.pi,
           math.inf, -math.inf, math.nan]
COUNT = 1 << 12
ULPS = 8
"""Units in the last place of f32: the longest of them, softcap, is three operations."""


def _inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    pairs = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL))
    count = COUNT - len(pairs)
    more = torch.randn((count, 2), generator=generator) * torch.logspace(-3, 5, count)[:, None]
    x, y = torch.cat([pairs, more]).T.contiguous()
    m = torch.randint(-1000, 1000, (COUNT,), generator=generator)
    n = torch.randint(1, 100, (COUNT,), generator=generator)
    return [each.reshape(1, COUNT, 1) for each in (x, y, m, n)]


@functools.cache
def _compile(source: str, target: str = TARGET, dtype: str = "f32") -> nsacc.Program:
    return nsacc.compile(source, target=target, dtype=dtype)


@pytest.mark.parametrize("function", [*REALS, *INTEGERS])
def test_maps(function):
    """Element by element: within a few units in the last place, NaN and infinities in place."""
    kind = "i64" if function in INTEGERS else "f32"
    source = (f"kernel f(x, y: f32[B, T, H], m, n: i64[B, T, H]) -> {kind}[B, T, H] "
              f"{{ return {function}; }}")
    inputs = _inputs()
    found = _compile(source)(*to_device(inputs))
    wait(function)
    exact = _compile(source, "oracle")(*inputs).double()
    found = found.cpu().double()
    if kind == "i64":
        assert torch.equal(found, exact)
        return
    assert torch.equal(found.isnan(), exact.isnan())
    assert torch.equal(found.isinf(), exact.isinf())
    # Intermediate values of a function may be as large as its operand, even if its result is small.
    slack = 2.0**-21 if "gelu" in function else 0.0
    bound = exact.abs() * ULPS * 2.0**-24 + slack + 2.0**-114
    wrong = ~((found - exact).abs() <= bound) & exact.isfinite()
    where = wrong.flatten().nonzero().flatten()[:5]
    x, y = (each.flatten()[where].tolist() for each in inputs[:2])
    assert not wrong.any(), (f"{function} of {x}, {y}: {found.flatten()[where].tolist()}, "
                             f"expected {exact.flatten()[where].tolist()}")


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("function", REALS)
def test_clauses(function, place, dtype):
    """Functions in a clause, of tables' elements, and of scores if there are any."""
    score = "(0.5 + abs(s))" if function.startswith(POSITIVE) else "s"
    argument = score if place in ("score", "weight") else "x[b, t]"
    text = re.sub(r"\bx\b", argument, re.sub(r"\by\b", "y[b, t]", function))
    source = ("kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D], x, y: f32[B, T]) -> [B, T, HQ, D] "
              f"{{ return {PLACES[place].format(f=text)}; }}")
    generator = torch.Generator().manual_seed(2)
    torch_dtype = torch.float32 if dtype == "f32" else torch.bfloat16
    q = torch.randn((2, 70, 4, 32), generator=generator).to(torch_dtype)
    k, v = (torch.randn((2, 97, 2, 32), generator=generator).to(torch_dtype) for _ in range(2))
    x = torch.rand((2, 70), generator=generator) * 3 + 0.1
    y = torch.rand((2, 70), generator=generator) * 2
    inputs = [q, k, v, x, y]
    found = _compile(source, dtype=dtype)(*to_device(inputs))
    wait(text)
    exact = _compile(source, "oracle", dtype=dtype)(*inputs).double()
    # tanh of bf16 kernels is the hardware's, within 2^-11 of its value.
    bound = 2.0**-6 if dtype == "bf16" else 1e-4
    error = (found.cpu().double() - exact).abs().amax(-1)
    right = error <= bound * exact.abs().amax(-1).clamp(min=1e-3)
    # A rounding may change a comparison's result.
    assert right.double().mean() >= (0.98 if place == "where" else 1.0)


@pytest.mark.parametrize("function", ["log", "log2"])
def test_logarithms_of_subnormal_numbers(function):
    source = f"kernel f(x: f32[N]) -> f32[N] {{ return {function}(x); }}"
    x = torch.tensor([1e-45, 1e-44, 1e-40, -1e-40, 1.1754942e-38, 1.1754944e-38, 0, -0.0, math.inf])
    found = _compile(source)(*to_device([x]))
    wait(function)
    expected = _compile(source, "oracle")(x)
    torch.testing.assert_close(found.cpu(), expected, rtol=2.0**-22, atol=0, equal_nan=True)


LONG = [Case(name, dtype=dtype, channels=channels, heads=heads, target=target)
        for name in ("long_score", "long_mask") for target in (TARGET, "sm_80")
        for dtype, channels, heads in [("bf16", (64, 64), (4, 2)), ("f16", (128, 128), (5, 1)),
                                       ("f32", (64, 32), (7, 7)), ("bf16", (192, 128), (6, 2))]]


@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_formulas(case):
    """Fewer keys at a time, as their code is long: no other program has such tiles."""
    for tokens, keys in [(200, 200), (65, 140), (1, 17), (129, 15)]:
        inputs = case.inputs(tokens=tokens, keys=keys)
        results = run_all(case.program(), to_device(inputs))
        wait(f"{case} of {tokens} queries and {keys} keys")
        check(case, results, inputs)
