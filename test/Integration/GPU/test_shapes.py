"""Odd lengths, groups, channels, windows and numbers of blocks, against the oracle."""

import pytest

from oracle import agrees
from programs import NAMES, SMALL, Case

EDGES = [0, 1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000]
LENGTHS = [(tokens, tokens) for tokens in EDGES] + [
    (0, 5), (1, 0), (130, 0), (1, 64), (1, 127), (2, 129), (1, 1000), (3, 193), (64, 65),
    (127, 1000), (191, 320),
    # Under a causal mask, rows before the first key see nothing; here also whole tiles.
    (2, 1), (65, 63), (129, 127), (193, 65), (300, 64), (1000, 127)]
MANY = (("top", 99),)

LENGTH_CASES = [Case(name) for name in [*NAMES, "full", "band"]] + [
    Case.small(name) for name in SMALL]
GROUPS = [(2, 2), (3, 1), (6, 2), (10, 2), (7, 1), (14, 2), (32, 2)]
GROUP_CASES = [Case.small(name, heads=heads) for heads in GROUPS
               for name in ("full", "flash", "window_sink", "softcap_alibi", "document_mask",
                            "block_sparse", "moba", "nsa")]
CHANNELS = [(8, 8), (40, 40), (96, 96), (128, 128), (192, 192), (256, 256), (192, 128), (64, 8),
            (8, 64), (96, 40), (128, 256), (256, 64)]
CHANNEL_CASES = (
    [Case(name, channels=channels) for name in ("flash", "full") for channels in CHANNELS] +
    [Case("mla", channels=channels) for channels in [(192, 128), (40, 8)]] +
    [Case.small(name, channels=channels)
     for name in ("window_sink", "softcap_alibi", "document_mask", "nsa")
     for channels in [(8, 40), (96, 96), (128, 128), (256, 192)]] +
    [Case.small(name, channels=channels) for name in ("block_sparse", "moba", "hstu_bsa")
     for channels in [(40, 8), (128, 128)]])
PARAMETER_CASES = [
    Case("window_sink", params=(("window", 1), ("anchors", 0))),
    Case("window_sink", params=(("window", 1), ("anchors", 4))),
    Case("window_sink", params=(("window", 5000), ("anchors", 4))),
    Case("band", params=(("window", 1),)), Case("band", params=(("window", 5000),)),
    Case("nsa", params=(("block", 16), ("len", 8), ("stride", 4), ("window", 1), *MANY)),
    Case("nsa", params=(("block", 32), ("len", 32), ("stride", 32), ("window", 5000))),
    Case("nsa_pooled_weights", params=(("len", 16), ("stride", 16), ("window", 1), *MANY)),
    Case("moba", params=MANY), Case("block_sparse", params=MANY),
    Case("moba", params=(("block", 16), ("top", 1))),
    Case("hstu_bsa", params=MANY)]
TYPE_CASES = [Case.small(name, dtype=dtype, heads=(6, 2), channels=(40, 24))
              for name in ("flash", "nsa", "hstu_bsa") for dtype in ("f16", "f32")]
OLDER_CASES = [Case.small(name, target="sm_80") for name in NAMES] + [
    Case(name, target="sm_80", heads=heads, channels=channels) for name in ("flash", "full")
    for heads, channels in [((4, 2), (128, 128)), ((3, 1), (64, 64)), ((14, 2), (40, 96)),
                            ((2, 2), (256, 256)), ((16, 1), (192, 128))]]


@pytest.mark.parametrize("case, tokens, keys", [
    (case, tokens, keys) for case in LENGTH_CASES for tokens, keys in LENGTHS
    if tokens == keys or not case.is_ragged], ids=str)
def test_lengths(case, tokens, keys):
    agrees(case, tokens=tokens, keys=keys)


@pytest.mark.parametrize("case", GROUP_CASES, ids=str)
def test_groups(case):
    for tokens, keys in [(1, 1), (65, 65), (300, 300), (1, 130), (63, 257), (130, 40)]:
        agrees(case, tokens=tokens, keys=keys)


@pytest.mark.parametrize("case", [*CHANNEL_CASES, *PARAMETER_CASES, *TYPE_CASES], ids=str)
def test_channels_parameters_types(case):
    for tokens in (1, 129, 400):
        agrees(case, tokens=tokens)
    if not case.is_ragged:
        agrees(case, tokens=66, keys=257)


@pytest.mark.parametrize("case", OLDER_CASES, ids=str)
def test_older_code(case):
    for tokens in (1, 64, 65, 300):
        agrees(case, tokens=tokens)
    if not case.is_ragged:
        for tokens, keys in [(1, 130), (65, 257), (130, 40), (2, 0)]:
            agrees(case, tokens=tokens, keys=keys)


@pytest.mark.parametrize("name", NAMES)
def test_no_batch(name):
    agrees(Case(name), tokens=0 if name == "hstu_bsa" else 65, batch=0)
