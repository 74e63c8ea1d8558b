"""What a run gives against what the program means."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from waiting import wait

from programs import Case, run_all, to_device

# Of a row's largest result. A result of 16 bits is rounded once, and its probabilities are before.
BOUNDS = {torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9, torch.float32: 5e-5}
# Rows of a program that selects blocks, where a rounding may pick another one.
UNDECIDED = 0.02


def check(case: Case, results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Holds results of one run to the oracle's, in fp64 but for what programs store between."""
    expected = case.oracle().run(inputs, f64_results=True, round_storage=True)
    expected = expected if isinstance(expected, tuple) else (expected,)
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


def find_wrong_rows(actual: torch.Tensor, exact: torch.Tensor, is_lse: bool) -> torch.Tensor:
    """Which rows are beyond the bound: the channels of a query and head, or a log-sum-exp."""
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


def agrees(case: Case, **sizes) -> None:
    """Runs a case on random inputs, and checks what it gives."""
    inputs = case.inputs(**sizes)
    results = run_all(case.program(), to_device(inputs))
    wait(f"{case} with {sizes}")
    check(case, results, inputs)
