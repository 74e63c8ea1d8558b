"""Compares the results of a run with the oracle's."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import torch

from programs import Case, run_all, to_device
from waiting import wait

# Errors relative to a row's largest result. A result of 16 bits is rounded once, after its
# probabilities.
BOUNDS = {torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9, torch.float32: 5e-5}
# Share of rows, in a program that selects blocks, where a rounding may pick another block.
UNDECIDED = 0.02


def run_oracle(case: Case, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results in fp64, except that intermediate tensors are rounded."""
    results = case.oracle().run(inputs, f64_results=True, round_storage=True)
    return tuple(results) if isinstance(results, tuple) else (results,)


def compare(case: Case, results: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    assert len(results) == len(expected)
    for spec, actual, exact in zip(case.program().signature.results, results, expected):
        assert actual.shape == exact.shape
        wrong = find_wrong_rows(actual.cpu(), exact, spec.name == "lse")
        if not wrong.any():
            continue
        allowed = UNDECIDED if case.selects else 0
        first = wrong.nonzero()[:5].tolist()
        assert wrong.double().mean() <= allowed, (
            f"{spec.name}: {int(wrong.sum())} of {wrong.numel()} rows are wrong, first {first}")


def check(case: Case, results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Compares the results of one run with the oracle's."""
    compare(case, results, run_oracle(case, inputs))


def find_wrong_rows(actual: torch.Tensor, exact: torch.Tensor, is_lse: bool) -> torch.Tensor:
    """Rows beyond the bound: the channels of a query and head, or a log-sum-exp."""
    bound = BOUNDS[actual.dtype]
    actual, exact = actual.double(), exact.double()
    finite = torch.isfinite(exact)
    error = (actual - exact).abs().where(finite, 0)
    size = exact.abs().where(finite, 0)
    size = size.clamp(min=1) if is_lse else size.amax(-1, keepdim=True)
    # An infinity times a probability that is 0 in f32 is NaN there, and infinite in fp64.
    strange = (torch.isfinite(actual) != finite) | (exact.isinf() & (actual == -exact))
    wrong = ~(error <= bound * size) | strange
    return wrong if is_lse else wrong.any(-1)


@functools.lru_cache(maxsize=16)
def _expect(case: Case, sizes: tuple[tuple[str, object], ...]) -> tuple[torch.Tensor, ...]:
    return run_oracle(case, case.inputs(**dict(sizes)))


def agrees(case: Case, **sizes) -> None:
    """Runs a case on random inputs, and compares its results with the oracle's."""
    results = run_all(case.program(), to_device(case.inputs(**sizes)))
    wait(f"{case} with {sizes}")
    # Schedules of one program have one result.
    asked = tuple((name, tuple(value) if isinstance(value, list) else value)
                  for name, value in sizes.items())
    compare(case, results, _expect(replace(case, target="oracle", schedule=""), asked))
