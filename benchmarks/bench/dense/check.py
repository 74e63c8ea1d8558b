"""Checks results against the formula in fp64, before any time is taken."""
from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch

from ..gpu.check import BOUNDS, bound, check_finite, check_shape, pick_slices, row_error
from . import formulas

if TYPE_CHECKING:
    from ..gpu.works import Tensors
    from .works import Work

LSE_BOUND = 1e-3


def check(work: Work, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
          order: random.Random) -> float:
    """The greatest error of slices of [B, T, HQ, DV], relative to their rows' largest element."""
    check_shape(out, (work.B, work.T, work.HQ, work.DV))
    check_finite("result", out)
    if lse is not None:
        check_finite("log-sum-exp", lse)
    worst = 0.0
    for batch, head, first, last in pick_slices([work.T] * work.B, work.HQ, order):
        place = f"batch {batch}, head {head}, rows {first} to {last}"
        right, right_lse = formulas.attend(work, inputs, batch, head, first, last)
        error = row_error(out[batch, first:last, head].double(), right)
        bound(error, BOUNDS[work.dtype], place)
        worst = max(worst, error)
        if lse is not None:
            off = float((lse[batch, first:last, head].double() - right_lse).abs().max())
            bound(off, LSE_BOUND, f"log-sum-exp of {place}")
    return worst
