"""Mixture of Block Attention against its paper's equations."""

from __future__ import annotations

import numpy as np
import pytest

from harness import GROUPS, close, doubles, example_returning, prefill_and_decode, qkv, same
from reference.moba import moba


def check(args, block, top):
    compiled = example_returning("moba", "idx: i32[B, T, HQ, top]", "indices(sel)", block=block,
                                 top=top)
    out, idx = compiled(*args)
    expected_out, expected_idx = moba(*doubles(*args), block=block, top=top)
    same(idx, expected_idx)
    close(out, expected_out)


@pytest.mark.parametrize("queries, tokens", prefill_and_decode(16))
@pytest.mark.parametrize("top", (1, 3))
def test_sizes(queries, tokens, top):
    check(qkv(np.random.default_rng(1), queries, tokens, 2), 16, top)


@pytest.mark.parametrize("group", GROUPS)
def test_group_sizes(group):
    check(qkv(np.random.default_rng(2), 30, 77, group), 8, 3)


def test_default_block():
    check(qkv(np.random.default_rng(3), 127, 127, 2), 64, 3)


def test_more_to_select_than_there_is():
    check(qkv(np.random.default_rng(4), 40, 40, 1), 16, 9)
