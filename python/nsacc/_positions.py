"""Positions of a model's tokens, which tell whether sequences are packed into one row."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from . import _inputs
from .errors import ArgumentError


class Checker:
    """Refuses rows of several sequences, whose positions begin again."""

    def __init__(self, words: str) -> None:
        self._words = words
        # All layers of a model get one tensor, which one of them checks: on a GPU, to read it is
        # to wait. Positions may change in place before that layer runs again.
        self._tensor: Any = _gone
        self._module: Any = _gone

    def check(self, module: torch.nn.Module, positions: Any, mask: torch.Tensor | None,
              tokens: int) -> None:
        """Raises `ArgumentError`; where memory can't be read yet, puts an assertion into the graph.

        Args:
            positions: of the queries, ``[B or 1, T]``; others aren't looked at.
            mask: of keys that are no padding, ``[B, S]``, the last of which are the queries.
        """
        if (tokens < 2 or not isinstance(positions, torch.Tensor) or positions.dim() != 2
                or positions.shape[1] != tokens):
            return
        if torch.compiler.is_compiling() or _is_out_of_reach(positions):
            torch._assert_async(are_of_one_sequence(positions, mask), self._words)
            return
        if self._tensor() is positions and self._module() is not module:
            return
        if not bool(are_of_one_sequence(positions, mask)):
            raise ArgumentError(self._words)
        self._tensor, self._module = weakref.ref(positions), weakref.ref(module)


def are_of_one_sequence(positions: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Whether the positions of each row count its tokens, or those that aren't padding."""
    index = torch.arange(positions.shape[1], device=positions.device)
    if mask is None:
        return (positions - positions[:, :1] == index).all()
    seen = mask[:, -positions.shape[1]:].to(positions.device, torch.bool)
    return (_are_equal(positions - index, seen)
            | _are_equal(positions - seen.cumsum(1), seen)).all()


def _are_equal(numbers: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Whether the numbers of a row that are seen are all the same."""
    last = torch.iinfo(numbers.dtype).max
    return (numbers.where(seen, last).amin(1) >= numbers.where(seen, -last).amax(1))


def _is_out_of_reach(tensor: torch.Tensor) -> bool:
    """Whether values can't be read now, as those of tracers, and while a graph is captured."""
    return _inputs.is_recorded([tensor]) or (
        tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def _gone() -> None:
    """A reference to nothing."""
