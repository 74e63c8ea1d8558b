"""Whether results are right: before any time is taken, against the formula in fp64."""
from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from . import formulas
from .works import Tensors, Work

# How far an element may lie from the formula, relative to the largest of its row.
BOUNDS = {"bf16": 1e-2, "f16": 2e-3, "f32": 2e-5}
LSE_BOUND = 1e-3
ROWS = 64
RANDOM_SLICES = 6


class WrongResult(Exception):
    """What is wrong, and where."""


@contextmanager
def poisoned_results() -> Iterator[None]:
    """New tensors of torch hold NaN, so that what isn't written is seen."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        if not torch.empty(1).isnan().all():
            raise RuntimeError("torch.empty doesn't fill new tensors: "
                               "torch.utils.deterministic.fill_uninitialized_memory is off")
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


def pick_slices(work: Work, order: random.Random) -> list[tuple[int, int, int, int]]:
    """(batch, head, first row, last row): the first, the last, and some in between."""
    rows = min(ROWS, work.T)
    picked = [(0, 0, 0, rows), (work.B - 1, work.HQ - 1, work.T - rows, work.T)]
    for _ in range(RANDOM_SLICES):
        first = order.randint(0, work.T - rows)
        picked.append((order.randrange(work.B), order.randrange(work.HQ), first, first + rows))
    return picked


def check(work: Work, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
          order: random.Random) -> float:
    """The greatest error of slices of [B, T, HQ, DV], relative to their rows' largest element."""
    expected = (work.B, work.T, work.HQ, work.DV)
    if tuple(out.shape) != expected:
        raise WrongResult(f"the result is {tuple(out.shape)}, expected {expected}")
    _check_finite("result", out)
    if lse is not None:
        _check_finite("log-sum-exp", lse)
    worst = 0.0
    for batch, head, first, last in pick_slices(work, order):
        place = f"batch {batch}, head {head}, rows {first} to {last}"
        right, right_lse = formulas.attend(work, inputs, batch, head, first, last)
        error = _row_error(out[batch, first:last, head].double(), right)
        _bound(error, BOUNDS[work.dtype], place)
        worst = max(worst, error)
        if lse is not None:
            off = float((lse[batch, first:last, head].double() - right_lse).abs().max())
            _bound(off, LSE_BOUND, f"log-sum-exp of {place}")
    return worst


def compare(work: Work, out: torch.Tensor, other: torch.Tensor) -> float:
    """The greatest difference of two whole results, each of which may be off by the bound."""
    worst = 0.0
    for batch, (mine, theirs) in enumerate(zip(out, other)):
        difference = _row_error(mine.float(), theirs.float())
        _bound(difference, 2 * BOUNDS[work.dtype], f"difference of batch {batch}")
        worst = max(worst, difference)
    return worst


def _check_finite(what: str, tensor: torch.Tensor) -> None:
    wrong = ~torch.isfinite(tensor)
    if wrong.any():
        count, place = int(wrong.sum()), wrong.nonzero()[0].tolist()
        raise WrongResult(f"{count} elements of the {what} aren't finite or weren't written, the "
                          f"first at {place}")


def _row_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    largest = expected.abs().amax(dim=-1).clamp(min=1e-30)
    return float(((found - expected).abs().amax(dim=-1) / largest).max())


def _bound(error: float, allowed: float, place: str) -> None:
    # Not `error > allowed`: NaN is wrong, too.
    if not error <= allowed:
        raise WrongResult(f"{place}: error {error:.2e}, allowed {allowed:.0e}")
