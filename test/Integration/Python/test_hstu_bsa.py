"""Block-sparse HSTU attention over packed rows, against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from harness import close, doubles, example_returning, normal, same
from reference.hstu_bsa import hstu_bsa

ROWS = {
    "no_rows": [],
    "one_empty_row": [0],
    "empty_rows": [0, 5, 0, 0, 17, 0],
    "around_a_block": [7, 8, 9, 1, 2],
    "long": [127, 64],
}


@pytest.mark.parametrize("lengths", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("block, top", [(8, 4), (8, 1), (8, 100), (32, 4)])
def test_rows(lengths, block, top):
    rng = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    packed, heads = int(offsets[-1]), 3
    q, k = normal(rng, packed, heads, 8), normal(rng, packed, heads, 8)
    v, u = normal(rng, packed, heads, 12), normal(rng, packed, heads, 12)
    gates = [normal(rng, packed, heads) for _ in range(2)]

    compiled = example_returning("hstu_bsa", "idx: i32[ragged T, H, top]", "indices(sel)",
                                 block=block, top=top)
    out, idx = compiled(q, k, v, u, *gates, offsets)
    expected_out, expected_idx = hstu_bsa(*doubles(q, k, v, u, *gates), offsets, block=block,
                                          top=top)
    same(idx, expected_idx)
    close(out, expected_out)
