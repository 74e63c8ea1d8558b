"""Lists up to the longest that a GPU sorts, long blocks, and channels that need smaller tiles."""

from __future__ import annotations

import pytest
import torch

from oracle import agrees, run_oracle
from programs import TARGET, Case, to_device

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


# Values of many channels: programs have some of them each. 576 and 512 are absorbed MLA's.
SLICES = [Case(name, dtype, heads=heads, channels=channels, params=params, schedule=schedule,
               target=target)
          for name, params in (("with_lse", ()), ("block_sparse", (("block", 64), ("top", 3))))
          for dtype, heads, channels, schedule in (
              ("bf16", (16, 1), (576, 512), ""), ("f16", (5, 1), (64, 300), ""),
              ("bf16", (6, 2), (64, 128), "channels=48"), ("f32", (2, 2), (40, 72), "channels=32"))
          for target in ("cuda", "sm_80")]
SLICES += [Case("with_lse", heads=(16, 1), channels=(576, 512), schedule="splits=3",
                target=target) for target in ("cuda", "sm_80")]


@pytest.mark.parametrize("case", SLICES, ids=str)
def test_slices_of_channels(case):
    for tokens, keys in ((1, 300), (65, 65), (70, 400), (0, 5)):
        agrees(case, tokens=tokens, keys=keys)


# Tiles with several rows of indices, with one, with a part of one, and with rows of other tiles.
GROUPS = [Case("groups", dtype, heads=heads, params=(("group", group),), schedule=schedule,
               target=target)
          for group in (1, 7, 8, 64, 200) for heads in ((2, 2), (6, 2), (32, 2))
          for dtype, schedule in (("bf16", ""), ("f32", "order=query_major"))
          for target in ("cuda", "sm_80")]
GROUPS += [Case("groups_of_all_heads", heads=(6, 2), params=(("group", group),))
           for group in (7, 64)]


@pytest.mark.parametrize("case", GROUPS, ids=str)
def test_rows_of_indices_for_groups_of_tokens(case):
    for tokens, keys in ((1, 300), (65, 65), (131, 400)):
        agrees(case, tokens=tokens, keys=keys)


# More blocks than a union's words hold at a time, and lists of many rows.
UNIONS = [Case("block_sparse", heads=heads, params=(("block", 16), ("top", top)), target=target,
               schedule="order=union")
          for heads in ((1, 1), (5, 1), (16, 1)) for top in (1, 16, 64)
          for target in ("cuda", "sm_80")]


@pytest.mark.parametrize("case", UNIONS, ids=str)
def test_unions_of_lists(case):
    for tokens, keys in ((1, 16), (63, 1000), (130, 3001)):
        agrees(case, tokens=tokens, keys=keys)


def test_unions_of_very_many_blocks():
    agrees(Case("block_sparse", heads=(1, 1), channels=(16, 16), params=(("block", 2), ("top", 8)),
                schedule="order=union"), tokens=70, keys=40000)


# Many pooled keys, and a wide band: both attentions have separate programs.
RANKED = [Case("nsa", dtype, heads=heads, channels=channels, target=target,
               params=(("block", 16), ("top", 6), ("len", length), ("stride", 4),
                       ("window", 512)))
          for dtype in ("bf16", "f16", "f32") for heads, channels in (((6, 2), (64, 64)),
                                                                      ((5, 1), (128, 40)))
          for length in (4, 8) for target in ("cuda", "sm_80")]


@pytest.mark.parametrize("case", RANKED, ids=str)
def test_attentions_with_programs_of_their_own(case):
    agrees(case, tokens=1201, keys=4099)


# Few queries over long lists, cut into parts for several programs.
SPLITS = [Case("block_sparse", dtype, heads=heads, params=(("block", block), ("top", top)),
               schedule=schedule)
          for block, top, heads in ((64, 40, (16, 1)), (16, 100, (6, 2)), (48, 33, (3, 1)))
          for dtype in ("bf16", "f16")
          for schedule in ("", "splits=1", "order=union,splits=7;*.merge:tokens=2",
                           "order=union,splits=64,tokens=1")]


@pytest.mark.parametrize("case", SPLITS, ids=str)
def test_parts_of_lists(case):
    for tokens, keys in ((1, 4000), (3, 2111), (70, 1500), (0, 1500), (2, 0)):
        agrees(case, tokens=tokens, keys=keys)


@pytest.mark.parametrize("schedule", ["", "order=union,splits=3"])
def test_parts_of_lists_are_repaired(schedule):
    """A value that isn't finite, in some parts of some lists."""
    case = Case("block_sparse", heads=(6, 2), params=(("block", 16), ("top", 80)),
                schedule=schedule)
    values = case.inputs(tokens=3, keys=1500, batch=2, seed=4)
    values[2][1, 700, 1, 3] = float("inf")
    expected = run_oracle(case, values)[0]
    found = case.program()(*to_device(values)).cpu()
    assert not torch.isfinite(expected).all() and torch.isfinite(expected).any()
    assert torch.equal(torch.isfinite(found), torch.isfinite(expected))
    same = torch.isfinite(expected)
    assert torch.allclose(found[same].double(), expected[same].double(), rtol=2e-2, atol=2e-2)


# One step of decoding, and a few: parts of keys, pooled keys, blocks and windows are side by side.
DECODES = [Case(name, dtype, heads=heads, channels=channels, params=params, target=target)
           for name, params in (
               ("nsa", (("block", 64), ("top", 16), ("len", 32), ("stride", 16), ("window", 512))),
               ("nsa", (("block", 16), ("top", 5), ("len", 16), ("stride", 16), ("window", 40))),
               ("nsa_pooled_weights", (("block", 32), ("top", 7), ("len", 32), ("stride", 16),
                                       ("window", 100))),
               ("moba", (("block", 16), ("top", 9))))
           for dtype, heads, channels in (("bf16", (16, 1), (128, 128)), ("f16", (6, 2), (64, 64)),
                                          ("bf16", (3, 3), (64, 64)))
           for target in dict.fromkeys((TARGET, "sm_80"))]


@pytest.mark.parametrize("case", DECODES, ids=str)
def test_decoding(case):
    for tokens, keys in ((1, 17001), (3, 20011), (40, 16500), (1, 1), (2, 300), (0, 17001), (1, 0)):
        agrees(case, tokens=tokens, keys=keys)
