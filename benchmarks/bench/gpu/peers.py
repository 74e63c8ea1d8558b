"""Common parts of the other ways to compute a work."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .works import Work

Run = Callable[[], torch.Tensor]


class Unavailable(Exception):
    """Says that a peer can't compute this work, and why."""


class Skipped(Exception):
    """Says that this run lacks something for a work, and what it is."""


@dataclass(frozen=True)
class Peer:
    """`run` gives a result in our layout. It is compared with the formula of `work`: the measured
    one, a dense one in its place, or none if the peer's formula differs."""

    run: Run
    work: Work | None


def guard(make: Callable[[], Run]) -> Run:
    """The result of `make`. Raises `Unavailable` for any exception: errors of torch.compile and of
    packages have no common base."""
    try:
        return make()
    except Exception as error:
        raise Unavailable(summarize(error)) from error


def summarize(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
