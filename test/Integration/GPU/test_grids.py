"""Fewer tiles than multiprocessors, many more, and tiles of one row."""

import pytest
import torch

from oracle import agrees
from programs import NAMES, TARGET, Case, run_all, to_device

NAMES_OF_GRIDS = ("flash", "full", "band", "window_sink", "document_mask", "softcap_alibi", "nsa",
                  "moba", "block_sparse", "mla")
CASES = [Case.small(name) for name in NAMES_OF_GRIDS] + [
    Case(name, heads=heads, channels=(128, 128)) for name in ("flash", "full", "window_sink")
    for heads in [(3, 1), (2, 2)]]


@pytest.mark.parametrize("batch, tokens, keys", [
    (1, 1, 1), (1, 1, 700), (150, 130, 130), (700, 1, 65), (33, 200, 70), (150, 3, 0)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_batches(case, batch, tokens, keys):
    agrees(case, batch=batch, tokens=tokens, keys=keys)


# Later rows see more keys: tiles of many batches come together, the last ones of fewer.
@pytest.mark.parametrize("batch, tokens", [(1, 260), (53, 257), (107, 320), (160, 260)])
@pytest.mark.parametrize("case", [
    Case(name, heads=(1, 1), schedule="tokens=64,keys=64")
    for name in ("flash", "softcap_alibi", "band")], ids=str)
def test_uneven_tiles(case, batch, tokens):
    agrees(case, batch=batch, tokens=tokens)


# A device takes 65535 blocks along a grid's last axis.
@pytest.mark.parametrize("tokens, keys", [(1, 2), (3, 17)])
@pytest.mark.parametrize("case", [
    Case("flash", heads=(1, 1), channels=(8, 8)), Case("moba", heads=(1, 1), channels=(8, 8)),
    Case("nsa", heads=(1, 1), channels=(8, 8)), Case("block_sparse", heads=(1, 1), channels=(8, 8)),
    Case("flash", heads=(1, 1), channels=(8, 8), target="sm_80")], ids=str)
def test_more_batch_rows_than_a_grid_has(case, tokens, keys):
    agrees(case, batch=70000, tokens=tokens, keys=keys)


# Tiles of 16, 64 and 128 rows for short batch rows, at their borders.
@pytest.mark.parametrize("tokens, keys", [
    (1, 1), (1, 16), (1, 17), (16, 16), (17, 17), (3, 33), (16, 64), (16, 65), (1, 257), (33, 40),
    (64, 64), (65, 65), (128, 128), (129, 129), (160, 192), (193, 193), (256, 256), (2, 512)])
@pytest.mark.parametrize("case", [
    Case(name, heads=heads, channels=(channels, channels), target=target)
    for name, heads, channels, target in [
        ("flash", (1, 1), 64, TARGET), ("flash", (4, 1), 64, TARGET),
        ("flash", (3, 1), 64, TARGET),
        ("flash", (2, 2), 32, TARGET), ("flash", (5, 1), 128, TARGET),
        ("flash", (2, 1), 96, TARGET),
        ("softcap_alibi", (2, 1), 64, TARGET), ("window_sink", (2, 1), 64, TARGET),
        ("flash", (4, 1), 64, "sm_80")]], ids=str)
def test_short_rows(case, tokens, keys):
    agrees(case, batch=37, tokens=tokens, keys=keys)


@pytest.mark.parametrize("case", [Case("band", heads=(1, 1)), Case("window_sink", heads=(2, 1))],
                         ids=str)
def test_long_rows(case):
    agrees(case, batch=1, tokens=30000)


@pytest.mark.parametrize("case", [
    *map(Case, NAMES), *(Case(name, channels=(128, 128)) for name in ("flash", "full")),
    *(Case(name, target="sm_80") for name in ("flash", "full"))], ids=str)
def test_the_same_bits_1000_times(case):
    inputs = to_device(case.inputs(tokens=700))
    program = case.program()
    first = [each.view(torch.uint8) for each in run_all(program, inputs)]
    differ = torch.zeros((), dtype=torch.int64, device=inputs[0].device)
    for _ in range(1000):
        for expected, actual in zip(first, run_all(program, inputs)):
            differ += (actual.view(torch.uint8) != expected).any()
    assert differ.item() == 0
