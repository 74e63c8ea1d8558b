"""Numbers at the ends of their types: large scores, integers, and constants in formulas."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from harness import program

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
import buckets  # noqa: E402

TARGETS = ("oracle", "cpu")
SCORES = (1e3, 1e6, 1e9, 1e12, 1e15, 1e17, 1e20, 1e25, 1e30, -1e9, -1e17, -1e30)


# -- Large scores: softmax's weights add up to 1 ---------------------------------------------------

def score_inputs(score: float, keys: int, values: float = 1.0) -> list[np.ndarray]:
    return [np.full((1, 3, 2, 1), score, np.float32), np.ones((1, keys, 1, 1), np.float32),
            np.full((1, keys, 1, 1), values, np.float32)]


ATTEND = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {
  return %s; }"""


@pytest.mark.parametrize("options", [
    {"target": "oracle"}, {"target": "cpu"}, {"target": "cpu", "schedule": "order=union"},
    {"target": "cpu", "schedule": "order=key_major,tokens=2,keys=16,splits=3"}], ids=str)
@pytest.mark.parametrize("keys", [1, 5, 127])
def test_equal_scores_of_any_size_weigh_the_same(options, keys):
    run = program(ATTEND % "attend(q, k, v) scale 1", **options)
    for score in SCORES:
        np.testing.assert_allclose(run(*score_inputs(score, keys)), 1, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_merged_branches_of_large_scores_weigh_one(target):
    branches = "merge(attend(q, k, v) scale 1, attend(q, k, v) where j < 2 scale 1)"
    for score in SCORES:
        result = program(ATTEND % branches, target=target)(*score_inputs(score, 5))
        np.testing.assert_allclose(result, 1, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_a_sink_of_the_scores_size_is_one_more_key(target):
    source = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], z: f32)
        -> [B, T, HQ, DV] { return attend(q, k, v) scale 1 sink z; }"""
    for score in SCORES:
        inputs = [*score_inputs(score, 4), np.float32(score)]
        np.testing.assert_allclose(program(source, target=target)(*inputs), 0.8, rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "oracle"])
def test_scores_beyond_f32(target):
    """The rules of docs/Numerics.md: the score of each key is 1e30 times its number."""
    attend = program("kernel f(q: f32[B, T, H, D], k, v: f32[B, S, H, D]) -> (o: f32[B, T, H, D], "
                     "l: f32[B, T, H]) { a = attend(q, k, v); return a, lse(a); }", target=target)
    def run(*keys: float) -> tuple[float, float]:
        k = np.array(keys, np.float32).reshape(1, -1, 1, 1)
        v = np.arange(1, len(keys) + 1, dtype=np.float32).reshape(k.shape)
        o, lse = attend(np.full((1, 1, 1, 1), 1e30, np.float32), k, v)
        return float(o.ravel()[0]), float(lse.ravel()[0])
    output, lse = run(1e30, 0)
    assert lse == np.inf and (np.isnan(output) if target == "cpu" else output == 1)
    assert run(-1e30, 0) == (2, 0)
    assert run(-1e30, -1e30) == (0 if target == "cpu" else 1.5, -np.inf)


@pytest.mark.parametrize("target", ["cpu", "oracle"])
def test_a_merge_with_an_infinite_branch(target):
    merged = program("kernel f(q: f32[B, T, H, D], k, v: f32[B, S, H, D]) -> (o: f32[B, T, H, D], "
                     "l: f32[B, T, H]) { a = merge(attend(q, k, v) sink inf, attend(q, k, v) where "
                     "j < i); return a, lse(a); }", target=target)
    ones = np.ones((1, 5, 1, 4), np.float32)
    o, lse = merged(ones, ones, ones)
    assert np.isnan(o).all() and (lse == np.inf).all()


SCHEDULES = ("", "order=union", "order=key_major,tokens=2,keys=16,splits=3")


@pytest.mark.parametrize("target", ["cpu", "oracle"])
def test_a_sink_of_infinity_leaves_zeros_without_a_sign(target):
    rows = program("kernel f(q: f32[B, T, H, D], k, v: f32[B, S, H, D]) -> f32[B, T, H, D] "
                   "{ return attend(q, k, v) where 2 <= j <= i sink inf; }", target=target)
    ones = np.ones((1, 5, 1, 20), np.float32)
    out = rows(ones, ones, -ones)
    assert (out == 0).all()
    assert not np.signbit(out).any()


@pytest.mark.parametrize("options", [{"target": "oracle"}, *(
    {"target": "cpu", "schedule": schedule} for schedule in SCHEDULES)], ids=str)
def test_probabilities_of_large_scores_add_up_to_one(options):
    source = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> f32[B, T, HQ, N] {
      return prob(attend(q, pool(k, 1)) scale 1, heads=none); }"""
    run = program(source, **options)
    for score in (*SCORES, 1.0, 100.0, -100.0):
        np.testing.assert_allclose(run(*score_inputs(score, 5)[:2]), 0.2, rtol=1e-6)


@pytest.mark.parametrize("options", [{"target": "oracle"}, *(
    {"target": "cpu", "schedule": schedule} for schedule in SCHEDULES)], ids=str)
@pytest.mark.parametrize("result", [
    "merge(a, c)", "0.0 * select(lse(c) < 0.0, 1.0, 0.0) + merge(a, c)"])
def test_merged_branches_weigh_what_their_keys_do(result, options):
    """Five keys of value 1 and two of value 8, all of one score."""
    source = f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {{
      a = attend(q, k, v) where j < 5 scale 1;
      c = attend(q, k, v) where j >= 5 scale 1;
      return {result}; }}"""
    run = program(source, **options)
    for score in SCORES:
        q, k, v = score_inputs(score, 7)
        v[:, 5:] = 8
        np.testing.assert_allclose(run(q, k, v), 3, rtol=1e-6)


@pytest.mark.parametrize("clauses", ["", " share heads 2"])
@pytest.mark.parametrize("target", TARGETS)
def test_blocks_are_chosen_by_probabilities_of_large_scores(target, clauses):
    """Even heads see two keys of block 0 and two of block 2, odd heads one of block 1."""
    source = f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> i32[B, T, H, 1] {{
      a = attend(q, pool(k, 1)) scale 1
          where h mod 2 == 0 and j mod 8 < 2 or h mod 2 == 1 and j == 5;
      return indices(topk(blocks(prob(a), 4), 1){clauses}); }}"""
    run = program(source, target=target)
    for score in SCORES:
        q = np.full((1, 3, 4, 1), score, np.float32)
        np.testing.assert_array_equal(run(q, np.ones((1, 12, 2, 1), np.float32)), 1)


# -- Constants of formulas -------------------------------------------------------------------------

@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_the_published_ones(target, bidirectional):
    tokens = 200
    qk = np.zeros((1, tokens, 1, 8), np.float32)
    found = program(buckets.t5_program(bidirectional), target=target)(
        qk, qk, np.eye(tokens, dtype=np.float32)[None, :, None])
    expected = buckets.t5_table(tokens, bidirectional)
    np.testing.assert_array_equal(found[0, :, 0], expected.numpy())


@pytest.mark.parametrize("spelling", ["log(16)", "c", "d"])
def test_a_named_constant_is_the_one_that_is_written_out(spelling):
    source = f"""kernel f<d: real = log(16)>(x: f32[N]) -> f32[N] {{
      c = log(16); return log(x) / {spelling}; }}"""
    x = np.array([2, 3, 4, 8, 16, 1000], np.float32)
    found = program(source).run([x], f64_results=True)
    np.testing.assert_allclose(found, np.log(x.astype(np.float64)) / np.log(16.0), rtol=1e-15)


def test_a_literal_is_the_f32_next_to_it():
    source = "kernel f(x: f32[N]) -> (a: f32[N], b: bool[N]) { return x + 0.3, x == 0.3; }"
    x = np.array([0.3, 0.25], np.float32)
    for target in TARGETS:
        total, same = program(source, target=target)(x)
        np.testing.assert_array_equal(total, x + np.float32(0.3))
        np.testing.assert_array_equal(same, [True, False])


# -- Integers --------------------------------------------------------------------------------------

EDGES = np.array([0, 1, -1, 2**24, 2**24 + 1, -2**24 - 1, 2**31 - 1, 2**31, -2**31, -2**31 - 1,
                  2**40, -2**40, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -2**63], np.int64)
REALS = np.array([0, -0.0, 0.99, -0.99, 1.5, -1.5, 2.0**24, 2.0**31, -2.0**31, 2.0**62, 2.0**63,
                  -2.0**63, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_become_the_nearest_of_their_result(target):
    source = """kernel f(x: i64[N], y: i32[N]) -> (a: i32[N], c: i64[N], d: i32[N], e: i64[N]) {
      return x, x + 0, y + y, y + y; }"""
    y = EDGES.clip(-2**31, 2**31 - 1).astype(np.int32)
    narrow, wide, doubled, doubled_wide = program(source, target=target)(EDGES, y)
    np.testing.assert_array_equal(narrow, EDGES.clip(-2**31, 2**31 - 1))
    np.testing.assert_array_equal(wide, EDGES)
    np.testing.assert_array_equal(doubled, (2 * y.astype(np.int64)).clip(-2**31, 2**31 - 1))
    np.testing.assert_array_equal(doubled_wide, 2 * y.astype(np.int64))


@pytest.mark.parametrize("target", TARGETS)
def test_reals_become_the_nearest_integers(target):
    source = """kernel f(x: f32[N]) -> (a: i64[N], c: i32[N], d: i64[N]) {
      return int(x), int(x), int(x * 1e20); }"""
    limits = np.iinfo(np.int64)

    def cut(x: float) -> int:
        if np.isnan(x):
            return 0
        return max(limits.min, min(limits.max, int(x))) if np.isfinite(x) \
            else limits.max if x > 0 else limits.min

    expected = np.array([cut(float(x)) for x in REALS], np.int64)
    wide, narrow, large = program(source, target=target)(REALS)
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(narrow, expected.clip(-2**31, 2**31 - 1))
    far = [cut(float(x) * 1e20 if x else 0.0) for x in REALS]
    np.testing.assert_allclose(large.astype(float), np.array(far, float), rtol=1e-6)
    outside = np.abs(np.array(far, float)) >= 2.0**63
    np.testing.assert_array_equal(large[outside], np.array(far, np.int64)[outside])


@pytest.mark.parametrize("constant", [2**24 + 1, 2**31 + 1, 2**53 - 1])
def test_an_integer_meets_a_real_exactly(constant):
    """f32 can't hold 2^24 + 1, and the oracle doesn't use f32."""
    source = f"""kernel f(x: f32[N], n: i64[N]) -> (a: f32[N], c: f32[N], d: bool[N]) {{
      return x * {constant}, x * n, x < {constant}; }}"""
    x = np.array([1, -1, 2**24, 2.0**53], np.float32)
    n = np.full(4, constant, np.int64)
    by_constant, by_input, below = program(source).run([x, n], f64_results=True)
    np.testing.assert_array_equal(by_constant, x.astype(np.float64) * constant)
    np.testing.assert_array_equal(by_input, by_constant)
    np.testing.assert_array_equal(below, x.astype(np.float64) < constant)
    compiled = program(source, target="cpu")(x, n)
    np.testing.assert_array_equal(compiled[0], x * np.float32(constant))
    np.testing.assert_array_equal(compiled[1], compiled[0])


@pytest.mark.parametrize("function", ["log", "log2"])
def test_logarithms_of_subnormal_numbers(function):
    source = f"kernel f(x: f32[N]) -> f32[N] {{ return {function}(x); }}"
    x = np.array([1e-45, 1e-44, 1e-40, -1e-40, 1.1754942e-38, 1.1754944e-38, 0, -0.0, np.inf,
                  np.nan, *np.logspace(-45, 38, 500)], np.float32)
    expected = program(source)(x)
    np.testing.assert_allclose(program(source, target="cpu")(x), expected, rtol=2.0**-23)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_round_once_to_reals(target):
    """The conversion doesn't go through fp64: near the middle of two numbers of f32, that gives the
    other one."""
    middles = (np.arange(1, 400, 2, np.int64) << 38) + (np.int64(1) << 62)
    numbers = np.concatenate([middles - 1, middles, middles + 1, -middles - 1, -middles + 1,
                              [2**53 + 1, 2**53 - 1, -2**53 - 1, 2**63 - 1, -2**63, 0]])
    run = program("kernel f(x: i64[N]) -> f32[N] { return x; }", target=target)
    assert np.array_equal(run(numbers), numbers.astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_integers_round_to_sixteen_bits_by_way_of_f32(target):
    numbers = np.array([16842753, -16842753, 2**24 + 2**16 + 1, 257, 2049, 2**40 + 1, 65519, 65520],
                       np.int64)
    for dtype, kind in (("bf16", ml_dtypes.bfloat16), ("f16", np.float16)):
        source = f"kernel f(y: i64[N]) -> (a: {dtype}[N], c: {dtype}[N]) {{ return y, y + 0; }}"
        with np.errstate(over="ignore"):
            expected = numbers.astype(np.float32).astype(kind).astype(np.float32)
        for found in program(source, target=target)(numbers):
            np.testing.assert_array_equal(np.asarray(found).astype(np.float32), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_beyond_reals_become_the_nearest(target):
    source = """kernel f(y: i64[N], z: f32) -> (a: i64[N], c: bool[N], d: f32[N], e: bool[N]) {
      return int(float(y)), y == z, y - z, y > z; }"""
    y = np.array([2**53 + 1, 2**53, 2**54 + 2, 2**53 - 1], np.int64)
    back, equal, difference, beyond = program(source, target=target)(y, np.float32(2**53))
    kind = np.float64 if target == "oracle" else np.float32
    near = y.astype(kind)
    np.testing.assert_array_equal(back, near.astype(np.int64))
    np.testing.assert_array_equal(equal, near == 2**53)
    np.testing.assert_array_equal(difference, near - kind(2**53))
    np.testing.assert_array_equal(beyond, near > 2**53)


# -- Importances of -inf ---------------------------------------------------------------------------

MINUS_INFINITY = {
    "a weight": ("activation(attend(q, pool(k, 2)) weight select(j == 1, -inf, 1.0))", [1, 0]),
    "a logarithm": ("log(prob(attend(q, pool(k, 2)) score select(j == 1, -1000, 0.0)))",
                    [0, -np.inf]),
    "arithmetic on a hidden key": ("prob(attend(q, pool(k, 2)) where j < 1) - 2", [-1, -np.inf]),
    "a hidden key": ("prob(attend(q, pool(k, 2)) where j < 1)", [1, 0]),
    "blocks of arithmetic": ("blocks(prob(attend(q, pool(k, 2)) where j < 1) * 2, 2)",
                             [2, -np.inf]),
    "blocks of a hidden key": ("blocks(prob(attend(q, pool(k, 2)) where j < 1), 2)", [1, 0]),
    "a score": ("score(attend(q, pool(k, 2)) where j < 1)", [0, -np.inf]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MINUS_INFINITY)
def test_minus_infinity_is_absent(name, target):
    """It is not chosen, and arithmetic shows it as it is: a 0 would be a value like any other."""
    value, expected = MINUS_INFINITY[name]
    source = f"""kernel f(q: [B, T, H, D], k: [B, S, H, D]) -> (f32[B, T, H, N], i32[B, T, H, 2]) {{
      p = {value}; return p, indices(topk(p, 2)); }}"""
    shown, chosen = program(source, target=target)(np.zeros((1, 1, 1, 2), np.float32),
                                                   np.zeros((1, 4, 1, 2), np.float32))
    np.testing.assert_array_equal(np.ravel(shown), expected)
    np.testing.assert_array_equal(np.ravel(chosen), [0, -1])
