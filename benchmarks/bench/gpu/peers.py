"""What other ways to compute a work have in common."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .works import Work

Run = Callable[[], torch.Tensor]


class Unavailable(Exception):
    """A peer that can't compute this work, and why."""


class Skipped(Exception):
    """A work that this run lacks something for, and what."""


@dataclass(frozen=True)
class Peer:
    """`run` gives a result as ours is laid out. `work` is the one whose formula it is held to:
    the measured one, a dense one in its place, or none where the peer has a formula of its own."""

    run: Run
    work: Work | None


def guard(make: Callable[[], Run]) -> Run:
    """What `make` returns; `Unavailable` whatever it raises: torch.compile's errors, and those of
    packages, have no base of their own."""
    try:
        return make()
    except Exception as error:
        raise Unavailable(summarize(error)) from error


def summarize(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
