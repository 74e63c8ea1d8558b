"""The NumPy formulas against PyTorch's attention and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from reference import masks, moba, nsa
from reference.dense import attend, positions
from reference.pooling import pool
from reference.selection import nsa_block_importance, topk

torch = pytest.importorskip("torch")


def inputs(queries, tokens, group=2, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((2, queries, 2 * group, 8)),
            rng.standard_normal((2, tokens, 2, 8)),
            rng.standard_normal((2, tokens, 2, 12)))


def torch_attention(q, k, v, visible):
    q, k, v = (torch.from_numpy(x).transpose(1, 2) for x in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=torch.from_numpy(visible), enable_gqa=True)
    return out.transpose(1, 2).numpy()


@pytest.mark.parametrize("queries, tokens", [(1, 1), (17, 17), (1, 33), (5, 33)])
def test_flash_is_torch_attention(queries, tokens):
    q, k, v = inputs(queries, tokens)
    expected = torch_attention(q, k, v, masks.causal(tokens, queries))
    np.testing.assert_allclose(masks.flash(q, k, v)[0], expected, rtol=1e-12, atol=1e-12)


def test_log_sum_exp_is_torchs():
    q, k, v = inputs(9, 21)
    s = torch.einsum("bthd,bshd->bths", torch.from_numpy(q),
                     torch.from_numpy(k).repeat_interleave(2, dim=2)) / 8**0.5
    hidden = torch.from_numpy(~masks.causal(21, 9))[None, :, None]
    expected = torch.logsumexp(s.masked_fill(hidden, -torch.inf), dim=-1).numpy()
    np.testing.assert_allclose(masks.flash(q, k, v)[1], expected, rtol=1e-12)


def test_a_sink_is_a_key_without_a_value():
    q, k, v = inputs(13, 13)
    logit = np.array([-1.0, 0.0, 2.0, 5.0])
    s = np.einsum("bthd,bshd->bhts", q, np.repeat(k, 2, axis=2)) / 8**0.5
    s = np.where(masks.causal(13, 13), s, -np.inf)
    s = np.concatenate([s, np.broadcast_to(logit[None, :, None, None], (*s.shape[:3], 1))], axis=-1)
    p = torch.softmax(torch.from_numpy(s), dim=-1).numpy()[..., :-1]
    expected = np.einsum("bhts,bshd->bthd", p, np.repeat(v, 2, axis=2))
    actual, _ = attend(q, k, v, masks.causal(13, 13), sink=logit)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


def test_a_row_that_sees_nothing_is_zero():
    q, k, v = inputs(4, 2)
    out, lse = masks.flash(q, k, v)
    assert np.all(out[:, :2] == 0) and np.all(np.isneginf(lse[:, :2]))
    assert np.all(np.isfinite(lse[:, 2:]))


def test_what_a_row_does_not_see_does_not_reach_it():
    q, k, v = inputs(8, 8)
    clean, _ = masks.flash(q, k, v)
    k[:, 5], v[:, 5] = np.nan, np.inf
    out, _ = masks.flash(q, k, v)
    np.testing.assert_array_equal(out[:, :5], clean[:, :5])
    assert np.all(np.isnan(out[:, 5:]))


def test_selecting_every_block_is_causal_attention():
    q, k, v = inputs(100, 100)
    gates = np.zeros((3, 2, 100, 4))
    result = nsa.nsa(q, k, v, *gates, block=16, top=7, length=8, stride=4)
    expected, _ = masks.flash(q, k, v)
    np.testing.assert_allclose(result.selected, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(result.windowed, expected, rtol=1e-12, atol=1e-14)
    everything, _ = moba.moba(q, k, v, block=16, top=7)
    np.testing.assert_allclose(everything, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("block, length, stride", [(64, 32, 16), (64, 64, 64), (32, 16, 16),
                                                   (16, 16, 4), (48, 16, 8)])
def test_equation_9_weighs_by_overlap(block, length, stride):
    rng = np.random.default_rng(1)
    p = rng.random(37)
    actual = nsa_block_importance(p, block, length, stride, blocks=9)
    for j in range(9):
        tokens = set(range(j * block, (j + 1) * block))
        overlap = [len(tokens & set(range(w * stride, w * stride + length))) for w in range(37)]
        assert actual[j] == pytest.approx(np.dot(overlap, p) / stride, rel=1e-12)


@pytest.mark.parametrize("length, stride", [(4, 4), (8, 4), (6, 2)])
@pytest.mark.parametrize("tokens", [8, 11, 24, 25])
def test_pooling_is_torchs(tokens, length, stride):
    x = np.random.default_rng(2).standard_normal((2, tokens, 3, 5))
    rows = torch.from_numpy(x).permute(0, 2, 3, 1).reshape(2, 15, tokens)

    def pooled(function, **options):
        result = function(rows, length, stride, **options)
        return result.reshape(2, 3, 5, -1).permute(0, 3, 1, 2).numpy()

    functional = torch.nn.functional
    drop = {"length": length, "stride": stride, "tail": "drop"}
    expected = pooled(functional.avg_pool1d)
    np.testing.assert_allclose(pool(x, **drop), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(pool(x, **drop, by="max"), pooled(functional.max_pool1d))
    weights = np.random.default_rng(3).standard_normal(length)
    kernel = torch.from_numpy(weights).expand(15, 1, length)
    expected = functional.conv1d(rows, kernel, stride=stride, groups=15)
    expected = expected.reshape(2, 3, 5, -1).permute(0, 3, 1, 2).numpy()
    np.testing.assert_allclose(pool(x, **drop, by=weights), expected, rtol=1e-12, atol=1e-14)


def test_topk_orders_forced_then_score_then_index_and_nan_last():
    importance = np.array([0.5, np.nan, 2.0, 0.5, 2.0, 1.0])
    present = np.array([True] * 6)
    assert topk(importance, present, own=5, top=2) == [2, 4]
    assert topk(importance, present, own=5, top=4) == [0, 2, 4, 5]
    assert topk(importance, present, own=5, top=6) == [0, 1, 2, 3, 4, 5]
    assert topk(importance, present, own=1, top=2, first=1, last=1) == [0, 1]
    assert topk(importance, present, own=1, top=2, first=1, last=1, plus=True) == [0, 1, 2, 4]
    assert topk(importance, np.array([True, False] * 3), own=0, top=9, last=2) == [0, 2, 4]


def test_positions_end_with_the_last_token():
    np.testing.assert_array_equal(positions(10, 3)[:, 0], [7, 8, 9])
    np.testing.assert_array_equal(positions(1, 3)[:, 0], [-2, -1, 0])
