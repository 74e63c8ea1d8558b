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


@pytest.mark.parametrize("sequences, tokens", [(0, 9), (1, 1), (1, 7), (2, 8), (3, 9), (5, 127)])
@pytest.mark.parametrize("group", (1, 3, 5, 7))
@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_paged_decode(sequences, tokens, group, target):
    page, pages = 8, 3
    rng = np.random.default_rng(6)
    q, k, v = qkv(rng, sequences, tokens, group, batch=1)
    count = -(-tokens // page)
    filled = rng.integers(0, page + 1, (1, count)).astype(np.int32)
    filled[0, -1] = min(filled[0, -1], tokens - (count - 1) * page)
    table = np.full((1, sequences, 2, pages), -1, np.int32)
    for t in range(sequences):
        chosen = rng.permutation(count)[:rng.integers(0, pages + 1)]
        table[0, t, :, :len(chosen)] = chosen
    # Places that aren't filled hold anything.
    for number in range(count):
        k[0, number * page + filled[0, number]:(number + 1) * page] = np.nan
        v[0, number * page + filled[0, number]:(number + 1) * page] = np.inf
    out = example("paged_decode", page=page, pages=pages, target=target)(q, k, v, table, filled)
    expected = masks.paged_decode(*doubles(q, np.nan_to_num(k), np.nan_to_num(v, posinf=0)), table,
                                  filled, page=page)
    matches(out, expected, target)


@pytest.mark.parametrize("drafted, tokens", [(0, 5), (1, 1), (1, 9), (5, 5), (7, 20), (17, 127)])
@pytest.mark.parametrize("group", (1, 3, 5, 7))
@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_draft_tree(drafted, tokens, group, target):
    rng = np.random.default_rng(7)
    q, k, v = qkv(rng, drafted, tokens, group)
    tree = np.zeros((2, drafted, drafted), bool)
    for b in range(2):
        for t in range(drafted):
            # Its parent's path, or a new root's, and itself.
            parent = rng.integers(-1, t)
            if parent >= 0:
                tree[b, t] = tree[b, parent]
            tree[b, t, t] = True
    out = example("draft_tree", target=target)(q, k, v, tree)
    matches(out, masks.draft_tree(*doubles(q, k, v), tree), target)


def matches(actual, expected, target):
    if target == "oracle":
        close(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
