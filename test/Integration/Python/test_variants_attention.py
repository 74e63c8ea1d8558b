"""Masks, scores, weights, sinks, scales, merging, batches and element types."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness import close, doubles, normal, program, qkv
from nsacc.errors import CompileError
from reference.dense import attend, positions, scores, silu, softmax, weigh
from reference.masks import causal
from reference.pooling import pool

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
TOKENS, QUERIES = 23, 19


def kernel(clauses: str, inputs: str = "", result: str = "[B, T, HQ, DV]") -> str:
    return f"kernel f({HEAD}{inputs}) -> {result} {{ return attend(q, k, v) {clauses}; }}"


def arguments(group=3, seed=0, queries=QUERIES, tokens=TOKENS, **shape):
    return qkv(np.random.default_rng(seed), queries, tokens, group, **shape)


def constant(x: float) -> float:
    """Constants of scalar code are f32 (docs/spec.md, 2.2)."""
    return float(np.float32(x))


QUERY = positions(TOKENS, QUERIES)
KEY = np.arange(TOKENS)[None, :]
CAUSAL = causal(TOKENS, QUERIES)


@pytest.mark.parametrize("clause, visible", [
    ("j <= i", KEY <= QUERY),
    ("j < i", KEY < QUERY),
    ("true", np.full((QUERIES, TOKENS), True)),
    ("false", np.full((QUERIES, TOKENS), False)),
    ("0 <= i - j < 5", (KEY <= QUERY) & (QUERY - KEY < 5)),
    ("abs(i - j) <= 3", abs(QUERY - KEY) <= 3),
    ("j <= i and not (j mod 3 == 1)", (KEY <= QUERY) & (KEY % 3 != 1)),
    ("(j - i) mod 4 == 0", (KEY - QUERY) % 4 == 0),
    ("(j - i) floordiv 4 == -1", (KEY - QUERY) // 4 == -1),
    ("(j - i) ceildiv 4 == 0", -((QUERY - KEY) // 4) == 0),
    ("i floordiv 8 == j floordiv 8", QUERY // 8 == KEY // 8),
    ("j <= t", KEY <= QUERY - (TOKENS - QUERIES)),
    ("j == i or j == 0 or j == S - 1", (KEY == QUERY) | (KEY == 0) | (KEY == TOKENS - 1)),
    ("start(j) + end(j) == 2 * j + 1 and end(j) <= i", KEY < QUERY),
    ("min(i, 7) >= max(j, 2, 3)", np.minimum(QUERY, 7) >= np.maximum(KEY, 3)),
    ("i / 2 < j", QUERY / 2 < KEY),
])
def test_masks(clause, visible):
    args = arguments()
    close(program(kernel(f"where {clause}"))(*args), attend(*doubles(*args), visible)[0])


def test_masks_by_head_and_batch_row():
    args = arguments(group=2)
    h, b = np.arange(4)[None, :, None, None], np.arange(2)[:, None, None, None]
    visible = CAUSAL & (QUERY - KEY <= 3 * h + 5 * b)
    close(program(kernel("where j <= i and i - j <= 3 * h + 5 * b"))(*args),
          attend(*doubles(*args), visible)[0])


def test_masks_from_tables():
    args = arguments()
    prefix = np.array([4, 9], dtype=np.int32)
    hidden = np.random.default_rng(1).random((2, TOKENS)) < 0.3
    compiled = program(kernel("where (j <= i or j < prefix[b]) and not hidden[b, j]",
                              ", prefix: i32[B], hidden: bool[B, S]"))
    visible = (CAUSAL | (KEY < prefix[:, None, None])) & ~hidden[:, None, :]
    close(compiled(*args, prefix, hidden), attend(*doubles(*args), visible[:, None])[0])


@pytest.mark.parametrize("expression, function", [
    ("s", lambda s: s),
    ("softcap(s, 2)", lambda s: 2 * np.tanh(s / 2)),
    ("s * s - abs(s)", lambda s: s * s - abs(s)),
    ("2 * s - (i - j) / 4", lambda s: 2 * s - (QUERY - KEY) / 4),
    ("select(j mod 2 == 0, s, s - 1.5)", lambda s: np.where(KEY % 2 == 0, s, s - 1.5)),
    ("select(s > 0.5, -inf, s)", lambda s: np.where(s > 0.5, -np.inf, s)),
    ("tanh(s) + sin(s) * cos(s) + exp(-s) + exp2(s)",
     lambda s: np.tanh(s) + np.sin(s) * np.cos(s) + np.exp(-s) + np.exp2(s)),
    ("log(1 + s * s) + log2(2 + s * s) + sqrt(s * s)",
     lambda s: np.log(1 + s * s) + np.log2(2 + s * s) + abs(s)),
    ("pow(abs(s), 1.5) + floor(s) + int(s) + float(j)",
     lambda s: abs(s)**1.5 + np.floor(s) + np.trunc(s) + KEY),
    ("erf(s) + gelu(s)", lambda s: np.vectorize(math.erf)(s)
     + s / 2 * (1 + np.vectorize(math.erf)(s * 0.5**0.5))),
    ("min(s, 0.3) + max(s, -0.3, -0.2)",
     lambda s: np.minimum(s, constant(0.3)) + np.maximum(s, constant(-0.2))),
])
def test_scores(expression, function):
    args = arguments()
    close(program(kernel(f"where j <= i score {expression}"))(*args),
          attend(*doubles(*args), CAUSAL, bias=function)[0])


def test_relative_bias_from_a_table():
    args = arguments(group=2)
    bias = normal(np.random.default_rng(2), 4, TOKENS)
    compiled = program(kernel("where j <= i score s + bias[h, i - j]", ", bias: f32[HQ, S]"))
    by_pair = bias.astype(np.float64)[:, np.maximum(QUERY - KEY, 0)]
    close(compiled(*args, bias), attend(*doubles(*args), CAUSAL, bias=lambda s: s + by_pair)[0])


@pytest.mark.parametrize("clause, scale", [("1", 1.0), ("0.125", 0.125), ("1 / D", 1 / 8),
                                           ("2 / sqrt(D)", 2 / 8**0.5)])
def test_scales(clause, scale):
    args = arguments()
    close(program(kernel(f"where j <= i scale {clause}"))(*args),
          attend(*doubles(*args), CAUSAL, scale=scale)[0])


def test_scale_from_an_input():
    args = arguments()
    close(program(kernel("where j <= i scale 2 * temperature", ", temperature: f32"))(
        *args, np.float32(0.3).reshape(())),
        attend(*doubles(*args), CAUSAL, scale=2 * float(np.float32(0.3)))[0])


WEIGHTS = {
    "silu(s)": silu,
    "silu(s) / D": lambda s: silu(s) / 8,
    "sigmoid(s)": lambda s: 1 / (1 + np.exp(-s)),
    "sigmoid(s - 2)": lambda s: 1 / (1 + np.exp(2 - s)),
    "relu(s)": lambda s: np.maximum(s, 0),
    "relu(s) * relu(s)": lambda s: np.maximum(s, 0)**2,
    "exp(s)": np.exp,
}
NORMALISERS = {
    "": None,
    "normalize 16": lambda w, n: 16.0,
    "normalize visible": lambda w, n: n,
    "normalize sum + 0.5": lambda w, n: w + 0.5,
    "normalize (i + 1)": lambda w, n: (QUERY + 1)[:, 0],
    "normalize max(abs(sum), 1)": lambda w, n: np.maximum(abs(w), 1),
}


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("normalize", NORMALISERS)
def test_weights(weight, normalize):
    args = arguments()
    q, k, v = doubles(*args)
    w = np.where(CAUSAL, WEIGHTS[weight](scores(q, k)), 0.0)
    expected = weigh(w, CAUSAL, v)
    if NORMALISERS[normalize]:
        divisor = NORMALISERS[normalize](w.sum(axis=-1), CAUSAL.sum(axis=-1))
        divisor = np.broadcast_to(divisor, w.shape[:-1]).transpose(0, 2, 1)
        expected = expected / divisor[..., None]
    close(program(kernel(f"where j <= i weight {weight} {normalize}"))(*args), expected)


def test_weight_of_the_modified_score():
    args = arguments()
    q, k, v = doubles(*args)
    w = np.where(CAUSAL, silu(scores(q, k) - (QUERY - KEY)), 0.0)
    close(program(kernel("where j <= i score s - (i - j) weight silu(s)"))(*args),
          weigh(w, CAUSAL, v))


def test_a_normaliser_is_not_asked_of_rows_that_see_nothing():
    args = arguments(queries=9, tokens=5)
    out = np.asarray(program(kernel("where j <= i weight silu(s) normalize visible"))(*args))
    assert np.all(out[:, :4] == 0) and np.all(np.isfinite(out))


def test_sink_by_head_and_position():
    args = arguments(group=2)
    logit = normal(np.random.default_rng(3), 4)
    compiled = program(f"""
kernel f({HEAD}, logit: f32[HQ]) -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) {{
  a = attend(q, k, v) where j < i - 6 sink logit[h] + i / 8;
  return a, lse(a);
}}""")
    q, k, v = doubles(*args)
    sink = logit.astype(np.float64)[None, :, None] + QUERY[:, 0] / 8
    visible = KEY < QUERY - 6
    p, lse = softmax(scores(q, k), visible, sink)
    out, natural = compiled(*args, logit)
    close(out, weigh(p, visible, v))
    close(natural, lse.transpose(0, 2, 1))


def test_merge_is_one_softmax_over_all_branches():
    compiled = program(f"""
kernel f({HEAD}) -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) {{
  a = attend(q, pool(k, 4), pool(v, 4)) where end(j) <= i - 3;
  b1 = attend(q, k, v) where 0 <= i - j < 3;
  c = attend(q, k, v) where j < 2 and j < i - 30;
  m = merge(a, b1, c);
  return m, lse(m);
}}""")
    args = arguments()
    q, k, v = doubles(*args)
    ends = 4 * np.arange(1, 1 + -(-TOKENS // 4))
    keys = np.concatenate([pool(k, 4), k], axis=1)
    values = np.concatenate([pool(v, 4), v], axis=1)
    visible = np.concatenate([ends <= QUERY - 3, (KEY <= QUERY) & (QUERY - KEY < 3)], axis=1)
    expected_out, expected_lse = attend(q, keys, values, visible)
    out, lse = compiled(*args)
    close(out, expected_out)
    close(lse, expected_lse)


def test_a_key_that_two_branches_see_counts_twice():
    args = arguments()
    compiled = program(f"""kernel f({HEAD}) -> [B, T, HQ, DV] {{
  return merge(attend(q, k, v) where j <= i, attend(q, k, v) where 0 <= i - j < 4);
}}""")
    twice = np.where(QUERY - KEY < 4, math.log(2), 0)
    close(compiled(*args), attend(*doubles(*args), CAUSAL, bias=lambda s: s + twice)[0])


def test_gates_and_elementwise_functions():
    rng = np.random.default_rng(4)
    args = arguments(group=2)
    gate, u = normal(rng, 2, QUERIES, 4), normal(rng, 2, QUERIES, 4, 12)
    compiled = program(f"""
kernel f({HEAD}, g: f32[B, T, HQ], u: f32[B, T, HQ, DV]) -> [B, T, HQ, DV] {{
  a = attend(q, k, v) where j <= i;
  w = attend(q, k, v) where 0 <= i - j < 4;
  return (sigmoid(g) * a - (1 - sigmoid(g)) * w) * silu(u) / 2 + max(u, -a);
}}""")
    q, k, v = doubles(*args)
    a, w = attend(q, k, v, CAUSAL)[0], attend(q, k, v, CAUSAL & (QUERY - KEY < 4))[0]
    g, u64 = doubles(gate, u)
    g = (1 / (1 + np.exp(-g)))[..., None]
    close(compiled(*args, gate, u), (g * a - (1 - g) * w) * silu(u64) / 2 + np.maximum(u64, -a))


@pytest.mark.parametrize("lengths", [
    [],
    [(0, 0)],
    [(5, 5), (0, 7), (3, 0), (0, 0), (1, 16), (9, 9)],
    [(4, 2), (17, 17)],
])
def test_ragged_queries_and_keys_with_offsets_of_their_own(lengths):
    compiled = program("""
kernel f(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV])
    -> (out: [ragged T, HQ, DV], lse: f32[ragged T, HQ])
{
  a = attend(q, pool(k, 4, 2), pool(v, 4, 2)) where end(j) <= i + b;
  m = merge(a, attend(q, k, v) where j <= i and i - j < S - 2);
  return m, lse(m);
}""")
    rng = np.random.default_rng(5)
    offsets = [np.concatenate([[0], np.cumsum([n[side] for n in lengths])]).astype(np.int32)
               for side in (0, 1)]
    q = normal(rng, int(offsets[0][-1]), 6, 8)
    k, v = normal(rng, int(offsets[1][-1]), 2, 8), normal(rng, int(offsets[1][-1]), 2, 12)
    out, lse = compiled(q, k, v, *offsets)
    for b, (queries, tokens) in enumerate(lengths):
        rows, keys = (slice(o[b], o[b + 1]) for o in offsets)
        q1, k1, v1 = (x[None] for x in doubles(q[rows], k[keys], v[keys]))
        i, j = positions(tokens, queries), np.arange(tokens)[None, :]
        kc, vc = pool(k1, 4, 2), pool(v1, 4, 2)
        visible = np.concatenate([2 * np.arange(kc.shape[1]) + 4 <= i + b,
                                  (j <= i) & (i - j < tokens - 2)], axis=1)
        expected_out, expected_lse = attend(q1, np.concatenate([kc, k1], axis=1),
                                            np.concatenate([vc, v1], axis=1), visible)
        close(out[rows], expected_out[0])
        close(lse[rows], expected_lse[0])


@pytest.mark.parametrize("width", (1, 3, 8, 128, 256))
@pytest.mark.parametrize("value_width", (1, 8, 40, 256))
def test_head_dimensions_are_independent(width, value_width):
    args = arguments(group=1, width=width, value_width=value_width)
    close(program(kernel("where j <= i"))(*args), attend(*doubles(*args), CAUSAL)[0])


@pytest.mark.parametrize("dtype, bits", [("f16", 11), ("bf16", 8)])
def test_16_bit_storage(dtype, bits):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    storage = np.float16 if dtype == "f16" else ml_dtypes.bfloat16
    args = [x.astype(storage) for x in arguments()]
    out = np.asarray(program(kernel("where j <= i"), dtype=dtype)(*args)).astype(np.float64)
    expected = attend(*doubles(*args), CAUSAL)[0]
    np.testing.assert_allclose(out, expected, rtol=2.0**-bits, atol=1e-7)
    assert np.any(out != expected)


def test_element_types_of_inputs_and_results_are_independent():
    args = arguments()
    ml_dtypes = pytest.importorskip("ml_dtypes")
    k = args[1].astype(ml_dtypes.bfloat16)
    v = args[2].astype(np.float16)
    compiled = program("""
kernel f(q: f32[B, T, HQ, D], k: bf16[B, S, H, D], v: f16[B, S, H, DV]) -> f32[B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
}""")
    close(compiled(args[0], k, v), attend(*doubles(args[0], k, v), CAUSAL)[0])


def test_dtype_parameters():
    source = """
kernel f<kv: dtype = f16>(q: f32[B, T, HQ, D], k: kv[B, S, H, D], v: kv[B, S, H, DV])
    -> f32[B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
}"""
    q, k, v = arguments()
    half = [x.astype(np.float16) for x in (k, v)]
    close(program(source)(q, *half), attend(*doubles(q, *half), CAUSAL)[0])
    close(program(source, kv="f32")(q, k, v), attend(*doubles(q, k, v), CAUSAL)[0])


def test_every_intermediate_can_be_a_result():
    compiled = program(f"""
kernel f({HEAD}, w: f32[3]) -> (kc: [B, N, H, D], vc: f16[B, N, H, DV], a: f32[B, T, HQ, DV],
                               lse: f32[B, T, HQ], copy: [B, S, H, D], both: f32[B, T, HQ, DV]) {{
  kc, vc = pool(k, 3, by=max), pool(v, 3);
  a = attend(q, kc, vc) where start(j) <= i;
  return kc, vc, a, lse(a), k, a + a;
}}""")
    args = arguments()
    q, k, v = doubles(*args)
    kc, vc = pool(k, 3, by="max"), pool(v, 3)
    out, lse = attend(q, kc, vc, 3 * np.arange(kc.shape[1]) <= QUERY)
    results = compiled(*args, np.zeros(3, dtype=np.float32))
    close(results.kc, kc)
    assert results.vc.dtype == np.float16
    np.testing.assert_allclose(results.vc.astype(np.float64), vc, rtol=2.0**-11, atol=1e-7)
    close(results.a, out)
    close(results.lse, lse)
    close(results.copy, k)
    close(results.both, 2 * out)


@pytest.mark.parametrize("text, message", [
    ("return attend(q, k, v) rotary(64);", "rotary"),
    ("return tree(q, k, v);", "tree"),
    ("return attend(q, paged k, v);", "paged"),
])
def test_what_is_not_supported_yet_says_so(text, message):
    with pytest.raises(CompileError, match=f"'{message}' isn't supported yet") as error:
        program(f"kernel f({HEAD}) -> [B, T, HQ, DV] {{ {text} }}")
    assert error.value.line == 1 and error.value.column > 1


@pytest.mark.parametrize("dtype", ("f8", "e4m3", "f64"))
def test_element_types_that_are_not_supported_yet_say_so(dtype):
    with pytest.raises(CompileError, match=f"'{dtype}' isn't supported yet"):
        program(f"kernel f(q: {dtype}[B, T, H, D]) -> [B, T, H, D] {{ return q; }}")
