"""Scores that are all equal, large, infinite or NaN, in every example."""

from __future__ import annotations

import pytest
import torch

from oracle import check
from programs import NAMES, SMALL, Case, run_all, to_device
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


def one_value(value: float, where: str):
    """In one token of one head of the last batch row."""
    def change(query: torch.Tensor, key: torch.Tensor) -> None:
        tensor = query if where == "query" else key
        tensor[..., tensor.shape[-3] // 2, -1, 3] = value
    return change


def everything(value: float):
    def change(query: torch.Tensor, key: torch.Tensor) -> None:
        key.fill_(value)
    return change


CHANGES = {
    "equal": equal, "large": large,
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
    """A value that isn't finite reaches who sees it, and nobody else."""
    inputs = case.inputs(tokens=200)
    inputs[2][..., 77, -1, 5] = value
    results = run_all(case.program(), to_device(inputs))
    wait(f"{case} with a value of {value}")
    check(case, results, inputs)
