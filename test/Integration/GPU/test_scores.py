"""Scores that are all equal, large, huge, infinite or NaN, in every example."""

from __future__ import annotations

import pytest
import torch

import nsacc
from oracle import check
from programs import NAMES, SMALL, TARGET, Case, run_all, to_device
from waiting import wait

CASES = [Case.small(name) for name in [*NAMES, "full"]] + [
    Case(name) for name in ("nsa", "moba")] + [
    Case("flash", channels=(128, 128)), Case("flash", dtype="f16"), Case("flash", dtype="f32"),
    Case("nsa", target="sm_80", params=SMALL["nsa"]), Case("flash", target="sm_80")]
INFINITY = float("inf")


def equal(query: torch.Tensor, key: torch.Tensor) -> None:
    key.zero_()


def large(query: torch.Tensor, key: torch.Tensor) -> None:
    query *= 30


def huge(query: torch.Tensor, key: torch.Tensor) -> None:
    """Scores with rounding errors beyond the range of exponents."""
    factor = 1e4 if query.dtype == torch.float16 else 1e9
    query *= factor
    key *= factor


def one_huge_query(query: torch.Tensor, key: torch.Tensor) -> None:
    """One row of a tile."""
    query[..., query.shape[-3] // 2, -1, :] *= 1e4 if query.dtype == torch.float16 else 1e12


def one_value(value: float, where: str):
    """A value in one token of one head of the last batch row."""
    def change(query: torch.Tensor, key: torch.Tensor) -> None:
        tensor = query if where == "query" else key
        tensor[..., tensor.shape[-3] // 2, -1, 3] = value
    return change


def everything(value: float):
    def change(query: torch.Tensor, key: torch.Tensor) -> None:
        key.fill_(value)
    return change


CHANGES = {
    "equal": equal, "large": large, "huge": huge, "one huge query": one_huge_query,
    "a NaN key": one_value(float("nan"), "key"), "a NaN query": one_value(float("nan"), "query"),
    "an infinite key": one_value(INFINITY, "key"),
    "a negative infinite key": one_value(-INFINITY, "key"),
    "an infinite query": one_value(INFINITY, "query"),
    "only NaN": everything(float("nan")), "only infinite": everything(INFINITY),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_scores(case, change):
    for tokens, keys in [(200, 200), (65, 140)]:
        if tokens != keys and case.is_ragged:
            continue
        inputs = case.inputs(tokens=tokens, keys=keys)
        CHANGES[change](*inputs[:2])
        results = run_all(case.program(), to_device(inputs))
        wait(f"{case} with {change}")
        check(case, results, inputs)


@pytest.mark.parametrize("value", [INFINITY, -INFINITY, float("nan")])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case, value):
    """A value that isn't finite reaches the rows that see it, and no others."""
    inputs = case.inputs(tokens=200)
    inputs[2][..., 77, -1, 5] = value
    results = run_all(case.program(), to_device(inputs))
    wait(f"{case} with a value of {value}")
    check(case, results, inputs)


@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("where, importance", [
    # Heads with a weight of -inf are absent, others of their group aren't.
    ("weight", "activation(a, heads=sum)"), ("weight", "activation(a, heads=mean)"),
    # Most scores are -inf, and few blocks have one that isn't.
    ("score", "score(a, heads=sum)"), ("score", "prob(a, heads=sum)"),
    ("score", "prob(a, heads=mean)"), ("score", "prob(a, heads=max)")])
@pytest.mark.parametrize("group", [3, 16])
def test_some_heads_are_absent(where, importance, group, target):
    values = "" if where == "weight" else ", kc"
    source = f"""
kernel f(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D]) -> (idx: i32[B, T, H, 4]) {{
  kc = pool(k, 16);
  a = attend(q, kc{values}) where end(j) <= i {where} select(s > 0.1, s, -inf);
  return indices(topk({importance}, 4));
}}"""
    generator = torch.Generator().manual_seed(group)
    # Multiples of 1/4: products and their sums are exact.
    inputs = [torch.randint(-2, 3, shape, generator=generator).to(torch.bfloat16) / 4
              for shape in ((1, 333, 2 * group, 64), (1, 333, 2, 64))]
    expected = nsacc.compile(source, target="oracle")(*inputs)
    found = nsacc.compile(source, target=target)(*to_device(inputs)).cpu()
    # Rounding may decide between blocks of nearly equal importance.
    counts = (expected >= 0).sum(-1)
    assert torch.equal((found >= 0).sum(-1), counts)
    assert (counts < 4).any() and (counts > 0).any()
    assert (found == expected).all(-1).double().mean() > 0.97
