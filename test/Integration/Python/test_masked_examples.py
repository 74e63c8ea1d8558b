"""The examples that are one softmax under a mask, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from harness import GROUPS, close, doubles, example, normal, prefill_and_decode, qkv
from reference import masks

SIZES = prefill_and_decode(16)


@pytest.mark.parametrize("queries, tokens", SIZES)
@pytest.mark.parametrize("group", GROUPS)
def test_flash(queries, tokens, group):
    args = qkv(np.random.default_rng(1), queries, tokens, group)
    out, lse = example("flash")(*args)
    expected_out, expected_lse = masks.flash(*doubles(*args))
    close(out, expected_out)
    close(lse, expected_lse)


@pytest.mark.parametrize("queries, tokens", SIZES)
@pytest.mark.parametrize("group", (1, 5))
def test_softcap_alibi(queries, tokens, group):
    rng = np.random.default_rng(2)
    q, k, v = qkv(rng, queries, tokens, group)
    q *= 4  # so that the cap bends the scores
    slope = np.abs(normal(rng, 2 * group))
    actual = example("softcap_alibi", cap=3.0)(q, k, v, slope)
    close(actual, masks.softcap_alibi(*doubles(q, k, v, slope), cap=3.0))


@pytest.mark.parametrize("queries, tokens", SIZES)
@pytest.mark.parametrize("group", (1, 7))
@pytest.mark.parametrize("window, anchors", [(1, 0), (16, 4), (500, 0)])
def test_window_sink(queries, tokens, group, window, anchors):
    rng = np.random.default_rng(3)
    q, k, v = qkv(rng, queries, tokens, group)
    logit = normal(rng, 2 * group)
    actual = example("window_sink", window=window, anchors=anchors)(q, k, v, logit)
    close(actual, masks.window_sink(*doubles(q, k, v, logit), window=window, anchors=anchors))


@pytest.mark.parametrize("queries, tokens", [s for s in SIZES if s[0] <= s[1]])
@pytest.mark.parametrize("group", (1, 3))
def test_document_mask(queries, tokens, group):
    rng = np.random.default_rng(4)
    q, k, v = qkv(rng, queries, tokens, group)
    doc = np.sort(rng.integers(0, 5, (2, tokens)), axis=1).astype(np.int32)
    close(example("document_mask")(q, k, v, doc), masks.document_mask(*doubles(q, k, v), doc))


@pytest.mark.parametrize("queries, tokens", SIZES)
@pytest.mark.parametrize("group", (1, 16))
def test_block_sparse(queries, tokens, group):
    rng = np.random.default_rng(5)
    q, k, v = qkv(rng, queries, tokens, group)
    blocks = -(-tokens // 16)
    # Unsorted, with repetitions and padding anywhere: a selection is a set.
    idx = rng.integers(-1, blocks, (2, queries, 2, 5)).astype(np.int32)
    actual = example("block_sparse", block=16, top=5)(q, k, v, idx)
    close(actual, masks.block_sparse(*doubles(q, k, v), idx, block=16))


@pytest.mark.parametrize("queries, tokens", [(0, 0), (1, 1), (33, 33), (1, 65)])
@pytest.mark.parametrize("mscale", (1.0, 1.25))
def test_mla(queries, tokens, mscale):
    args = qkv(np.random.default_rng(6), queries, tokens, width=192, value_width=128)
    close(example("mla", mscale=mscale)(*args), masks.mla(*doubles(*args), mscale=mscale))


@pytest.mark.parametrize("poison", (np.nan, np.inf, -np.inf))
@pytest.mark.parametrize("where", ("query", "key", "value"))
def test_flash_keeps_non_finite_inputs_to_the_rows_that_see_them(poison, where):
    q, k, v = qkv(np.random.default_rng(7), 20, 20, group=3)
    if where == "query":
        q[0, 4, 1, 2] = poison
    elif where == "key":
        k[1, 9, 0, 3] = poison
    else:
        v[1, 9, 0, 3] = poison
    out, lse = example("flash")(q, k, v)
    with np.errstate(invalid="ignore"):
        expected_out, expected_lse = masks.flash(*doubles(q, k, v))
    close(out, expected_out)
    close(lse, expected_lse)
    assert np.isfinite(out).any()


def test_no_batch_rows_and_no_tokens():
    q, k, v = qkv(np.random.default_rng(8), 3, 4, batch=0)
    assert np.shape(example("flash")(q, k, v)[0]) == (0, 3, 2, 12)
    q, k, v = qkv(np.random.default_rng(8), 3, 0)
    out, lse = example("flash")(q, k, v)
    assert not np.any(out) and np.all(np.isneginf(lse))
