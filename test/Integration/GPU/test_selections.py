"""Lists up to the longest that a GPU sorts, long blocks, and channels that need smaller tiles."""

from __future__ import annotations

import pytest

from oracle import agrees
from programs import Case

LONG = [Case(name, params=(("block", 16), ("top", top)), target=target)
        for name in ("block_sparse", "moba") for top in (33, 100, 129, 256)
        for target in ("cuda", "sm_80")]


@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_lists(case):
    agrees(case, tokens=70, keys=2100)


BLOCKS = [Case("block_sparse", dtype, params=(("block", block), ("top", 3)), schedule=schedule,
               target=target)
          for block, dtype in ((320, "bf16"), (333, "f16"), (512, "bf16"), (1024, "f32"))
          for schedule in ("", "order=union") for target in ("cuda", "sm_80")]


@pytest.mark.parametrize("case", BLOCKS, ids=str)
def test_blocks_of_many_tiles(case):
    agrees(case, tokens=70, keys=2100)


# Tiles of the usual size take more shared memory than there is.
WIDE = [Case("full", dtype, channels=(width, width), target=target)
        for dtype, width, target in (("bf16", 512, "sm_80"), ("f32", 128, "cuda"),
                                     ("f32", 256, "cuda"), ("f32", 256, "sm_80"))]


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_wide_channels(case):
    agrees(case, tokens=65, keys=140)
