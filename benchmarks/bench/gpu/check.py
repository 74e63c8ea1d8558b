"""Parts of the checks of all works: bounds, samples, and results that start as NaN."""
from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# The allowed error of an element, relative to the largest of its row.
BOUNDS = {"bf16": 1e-2, "f16": 2e-3, "f32": 2e-5}
ROWS = 64
RANDOM_SLICES = 6


class WrongResult(Exception):
    """A wrong result, with its place."""


@contextmanager
def poisoned_results() -> Iterator[None]:
    """New tensors of torch hold NaN, so that unwritten elements are found."""
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


def pick_slices(lengths: list[int], heads: int,
                order: random.Random) -> list[tuple[int, int, int, int]]:
    """(batch, head, first row, last row): the first, the last, and some in between, of a batch with
    rows of these lengths."""
    picked = [(0, 0, 0, min(ROWS, lengths[0])),
              (len(lengths) - 1, heads - 1, max(0, lengths[-1] - ROWS), lengths[-1])]
    for _ in range(RANDOM_SLICES):
        batch = order.randrange(len(lengths))
        rows = min(ROWS, lengths[batch])
        first = order.randint(0, lengths[batch] - rows)
        picked.append((batch, order.randrange(heads), first, first + rows))
    return picked


def check_shape(out: torch.Tensor, expected: tuple[int, ...]) -> None:
    if tuple(out.shape) != expected:
        raise WrongResult(f"the result is {tuple(out.shape)}, expected {expected}")


def check_finite(what: str, tensor: torch.Tensor) -> None:
    wrong = ~torch.isfinite(tensor)
    if wrong.any():
        count, place = int(wrong.sum()), wrong.nonzero()[0].tolist()
        raise WrongResult(f"{count} elements of the {what} aren't finite or weren't written, the "
                          f"first at {place}")


def compare(dtype: str, out: torch.Tensor, other: torch.Tensor) -> float:
    """The greatest difference of two whole results; each may be off by the bound."""
    worst = 0.0
    for batch, (mine, theirs) in enumerate(zip(out, other)):
        difference = row_error(mine.float(), theirs.float())
        bound(difference, 2 * BOUNDS[dtype], f"difference of batch {batch}")
        worst = max(worst, difference)
    return worst


def row_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Rows are the last dimension."""
    largest = expected.abs().amax(dim=-1).clamp(min=1e-30)
    return float(((found - expected).abs().amax(dim=-1) / largest).max())


def bound(error: float, allowed: float, place: str) -> None:
    # This isn't `error > allowed`, because NaN is wrong, too.
    if not error <= allowed:
        raise WrongResult(f"{place}: error {error:.2e}, allowed {allowed:.0e}")
