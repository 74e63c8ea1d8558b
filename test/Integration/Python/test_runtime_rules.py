"""The rules of docs/spec.md for the inputs of a run: each one broken, and the message about it."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest

from harness import normal, program, qkv
from nsacc.errors import ArgumentError

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
PACKED = "q: [ragged T, H, D], k: [ragged S, H, D], v: [ragged S, H, D]"
RNG = np.random.default_rng(0)


def rejects(message, source, *args):
    """Runs it compiled and on the oracle; returns the oracle's message."""
    for target in ("cpu", "oracle"):
        with pytest.raises(ArgumentError) as error:
            program(source, target=target)(*args)
        assert message in str(error.value)
    return str(error.value)


def attend(clauses="", inputs=""):
    return f"kernel f({HEAD}{inputs}) -> [B, T, HQ, DV] {{ return attend(q, k, v) {clauses}; }}"


def packed(q_offsets, k_offsets, tokens=6, dtype=np.int32):
    source = f"kernel f({PACKED}) -> [ragged T, H, D] {{ return attend(q, k, v); }}"
    tensors = [normal(RNG, tokens, 2, 4) for _ in range(3)]
    offsets = [np.array(o, dtype=dtype) for o in (q_offsets, k_offsets)]
    return (source, *tensors, *offsets)


def test_equal_names_have_equal_sizes():
    q, k, v = qkv(RNG, 5, 7)
    message = rejects("equal names must have equal sizes", attend(), q, k, v[:, :6])
    assert all(part in message for part in ("S is 7 in 'k'", "6 in 'v'"))


def test_ranks_are_those_declared():
    q, k, v = qkv(RNG, 5, 7)
    rejects("3 dimensions, expected 4: found shape", attend(), q[0], k, v)


def test_query_heads_are_a_multiple_of_key_heads():
    q, k, v = qkv(RNG, 5, 7)
    rejects("query heads are not a multiple of", attend(), normal(RNG, 2, 5, 3, 8), k, v)
    # Tensors of torch, with heads in front.
    rejects("declared so, as in [B, heads HQ, T, D]", attend(), normal(RNG, 1, 4, 10, 16),
            *(normal(RNG, 1, 2, 30, 16) for _ in range(2)))


def test_offsets_start_at_zero():
    rejects("must start with 0, found", *packed([1, 6], [0, 6]))


def test_offsets_do_not_decrease():
    rejects("must not decrease: entry", *packed([0, 4, 2, 6], [0, 1, 2, 6]))


@pytest.mark.parametrize("entry,number", [(1, 2**32 + 5), (1, -2**40), (1, -5), (3, 2**31)])
def test_offsets_that_i32_cannot_hold_are_told_as_they_are(entry, number):
    offsets = [0, 2, 4, 6]
    offsets[entry] = number
    message = (f"'T_offsets' has {number} at entry {entry}, expected 0 to 2147483647: offsets "
               f"count packed tokens")
    source, *tensors = packed(offsets, [0, 1, 2, 6], dtype=np.int64)
    rejects(message, source, *tensors)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        program(source).result_shapes(*(one.shape for one in tensors[:3]), *tensors[3:])
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentError, match=re.escape(message)):
        program(source)(*map(torch.from_numpy, tensors))


def test_wide_offsets_within_i32_are_told_as_others():
    rejects("must not decrease: entry 2 is 2 after 4",
            *packed([0, 4, 2, 6], [0, 1, 2, 6], dtype=np.int64))
    rejects("'T_offsets' ends at 2147483647 but",
            *packed([0, 4, 5, 2**31 - 1], [0, 1, 2, 6], dtype=np.int64))


def test_offsets_end_at_the_packed_size():
    rejects("' ends at ", *packed([0, 5], [0, 6]))


def test_sharing_divides_the_heads():
    source = f"""kernel f({HEAD}) -> [B, T, HQ, DV] {{
  sel = topk(prob(attend(q, pool(k, 4))), 1) share heads 3;
  return attend(q, k, v) in sel;
}}"""
    rejects("the number of heads that share a selection", source, *qkv(RNG, 5, 7))


def test_ragged_dimensions_share_one_batch():
    rejects("all ragged dimensions share one batch", *packed([0, 6], [0, 2, 6]))


def test_offsets_are_not_empty():
    rejects("is empty: offsets of B rows are B + 1 numbers", *packed([], [0, 6]))


@pytest.mark.parametrize("index", (-2, 2, 2**31 - 1))
def test_indices_handed_in_are_blocks(index):
    source = f"""kernel f({HEAD}, idx: i32[B, T, H, 3]) -> [B, T, HQ, DV] {{
  return attend(q, k, v) in selection(idx, 4);
}}"""
    idx = np.full((2, 5, 2, 3), -1, dtype=np.int32)
    idx[1, 4, 0, 2] = index
    message = rejects("expected -1", source, *qkv(RNG, 5, 7), idx)
    assert all(part in message for part in ("idx", "[1, 4, 0, 2]", str(index)))


@pytest.mark.parametrize("count, bits", [(-1, 32), (3, 32), (-1, 64), (2**32 + 1, 64)])
def test_counts_are_within_top(count, bits):
    source = f"""kernel f({HEAD}, n: i{bits}[B, T, H]) -> [B, T, HQ, DV] {{
  return attend(q, k, v) in topk(prob(attend(q, pool(k, 4))), 2) count n;
}}"""
    counts = np.zeros((2, 5, 2), dtype=f"int{bits}")
    counts[1, 0, 1] = count
    message = rejects(", but must be 0 to ", source, *qkv(RNG, 5, 7), counts)
    assert all(part in message for part in ("'n'", "[1, 0, 1]", str(count)))


@pytest.mark.parametrize("share, importance, heads", [
    ("share tokens 4", "prob(p)", 2), ("share heads 2", "prob(p)", 2),
    ("share tokens 4 by first share heads 2 by last", "prob(p)", 2),
    ("share tokens 3 share heads 2", "prob(p, heads=none)", 4)])
def test_counts_of_all_who_share_are_within_top(share, importance, heads):
    """One row speaks for all, but every row's count is checked."""
    source = f"""kernel f({HEAD}, n: i32[B, T, {"H" if heads == 2 else "HQ"}]) -> [B, T, HQ, DV] {{
  p = attend(q, pool(k, 4));
  return attend(q, k, v) in topk({importance}, 2) count n {share};
}}"""
    for place in itertools.product((0, 1), range(5), range(heads)):
        counts = np.ones((2, 5, heads), dtype=np.int32)
        counts[place] = 3
        message = rejects(", but must be 0 to ", source, *qkv(RNG, 5, 7, group=2), counts)
        assert all(part in message for part in ("'n'", str(list(place))))


def test_what_no_result_needs_may_be_empty():
    source = f"""kernel f({HEAD}, x: f32[B, T, H, N]) -> f32[B, T, HQ, DV] {{
  _m = blocks(x, 4, map=identity);
  return attend(q, k, v);
}}"""
    q, k, v = qkv(RNG, 5, 0)
    for target in ("cpu", "oracle"):
        out = program(source, target=target)(q, k, v, np.zeros((2, 5, 2, 0), dtype=np.float32))
        assert not out.any()


def test_merges_of_one_attention_are_that_attention():
    source = f"""kernel f({HEAD}, w: f32) -> (f32[B, T, HQ, DV], f32[B, T, HQ]) {{
  a = attend(q, k, v) sink w;
  m = merge(a);
  return m, lse(m);
}}"""
    for target in ("cpu", "oracle"):
        out, lse = program(source, target=target)(*qkv(RNG, 5, 7), np.float32(np.inf))
        assert not out.any() and np.isposinf(lse).all()


def test_weights_too_small_for_f16_are_zero():
    """The rule of docs/Numerics.md for values of f16: infinite or NaN, never a number."""
    q, k = np.zeros((1, 1, 1, 2), np.float16), np.zeros((1, 2, 1, 2), np.float16)
    v = np.array([1, np.inf], np.float16).reshape(1, 2, 1, 1)
    for score in ("-20.0 * j", "-10.0 * j"):
        for target in ("cpu", "oracle"):
            out = program(attend(f"score {score}"), target=target, dtype="f16")(q, k, v)
            assert not np.isfinite(out).any()
            assert np.isposinf(out).all() or (target == "cpu" and score == "-20.0 * j")


@pytest.mark.parametrize("clause, declared", [
    ("in selection(n, 4)", "i32[B, T, H, K]"), ("where n[j, t, h, i] > 0", "i32[U, V, W, X]")])
def test_results_of_size_zero_need_nothing(clause, declared):
    source = f"""kernel f<K = 3>({HEAD}, n: {declared}) -> [B, T, HQ, DV] {{
  return attend(q, k, v) {clause};
}}"""
    q, k, v = qkv(RNG, 5, 7)
    n = np.full((2, 5, 2, 3), 99, dtype=np.int32)
    for target in ("cpu", "oracle"):
        run = program(source, target=target)
        assert run(q, k, v[..., :0], n).shape == (*q.shape[:3], 0)
        with pytest.raises(ArgumentError, match="'n'"):
            run(q, k, v, n)


@pytest.mark.parametrize("clause, declared, shape, message", [
    ("", "f32[B, S]", (2, 6), "equal names must have equal sizes"),
    ("in topk(prob(attend(q, pool(k, 4))), 1) share heads 3", "f32[B]", (2,),
     "the number of heads that share a selection"),
    ("in topk(blocks(n, 4, map=identity), 1)", "f32[B, T, H, N]", (2, 5, 2, 3),
     "has size 3, but S has 2 blocks of 4"),
    ("in selection(n, 4, tokens=3)", "i32[B, M, H, 2]", (2, 5, 2, 2), "5 rows of indices"),
    ("in selection(n, 4, top=2, offsets=p)", "i32[B, N, H], p: i32[B, P, H]", (2, 5, 2),
     "7 offsets, expected 6")])
def test_sizes_are_checked_where_results_have_size_zero(clause, declared, shape, message):
    source = attend(clause, f", n: {declared}")
    q, k, v = qkv(RNG, 5, 7)
    n = np.zeros(shape, dtype=declared[:3].replace("f", "float").replace("i", "int"))
    more = [np.zeros((2, 7, 2), np.int32)] if "p:" in declared else []
    rejects(message, source, q, k, v[..., :0], n, *more)


def test_scores_handed_in_have_one_entry_for_each_block():
    source = f"""kernel f({HEAD}, x: f32[B, T, H, N]) -> [B, T, HQ, DV] {{
  return attend(q, k, v) in topk(blocks(x, 4, map=identity), 1);
}}"""
    for entries in (0, 1, 3, 10):
        rejects(f"the last dimension of scores 'x' has size {entries}, but S has 2 blocks of 4",
                source, *qkv(RNG, 5, 7), normal(RNG, 2, 5, 2, entries))
    # Without queries, too; and of ragged rows, as many as the longest has.
    rejects("has size 3", source, *qkv(RNG, 0, 7), normal(RNG, 2, 0, 2, 3))
    source = f"""kernel f({PACKED}, x: f32[ragged T, H, N]) -> [ragged T, H, D] {{
  return attend(q, k, v) in topk(blocks(x, 2, map=identity), 1);
}}"""
    offsets = np.array([0, 1, 6], dtype=np.int32)
    rejects("has size 2, but S has 3 blocks", source, *(normal(RNG, 6, 2, 4) for _ in range(3)),
            normal(RNG, 6, 2, 2), offsets, offsets)


def test_groups_of_tokens_have_one_row_of_indices_each():
    source = f"""kernel f({HEAD}, x: i32[B, M, H, 2]) -> [B, T, HQ, DV] {{
  return attend(q, k, v) in selection(x, 4, tokens=3);
}}"""
    for rows in (0, 1, 3, 5):
        noun = "row" if rows == 1 else "rows"
        rejects(f"'x' has {rows} {noun} of indices, expected 2: T has 5 tokens, and each 3 of them",
                source, *qkv(RNG, 5, 7), np.zeros((2, rows, 2, 2), dtype=np.int32))
    rejects("'x' has 1 row of indices, expected 0", source, *qkv(RNG, 0, 7),
            np.zeros((2, 1, 2, 2), dtype=np.int32))
    source = f"""kernel f({PACKED}, x: i32[ragged M, H, 2]) -> [ragged T, H, D] {{
  return attend(q, k, v) in selection(x, 2, tokens=3);
}}"""
    offsets, groups = (np.array(ends, dtype=np.int32) for ends in ([0, 1, 6], [0, 2, 3]))
    rejects("'x' has 2 rows of indices in batch row 0, expected 1: T has 1 tokens", source,
            *(normal(RNG, 6, 2, 4) for _ in range(3)), np.zeros((3, 2, 2), dtype=np.int32),
            offsets, offsets, groups)


def test_tables_are_read_within_bounds():
    message = rejects(", but dimension ", attend("score s + w[i - j]", ", w: f32[N]"),
                      *qkv(RNG, 5, 7), normal(RNG, 6))
    assert all(part in message for part in ("'w'", "score", "i = ", "j = "))


@pytest.mark.parametrize("name", ["blocks", "offsets", "pool", "pooled"])
def test_dimensions_are_spelled_as_the_program_does(name):
    rejects(f", but dimension {name} has size 2 in 'score'",
            attend("score s + w[j]", f", w: f32[{name}]"), *qkv(RNG, 5, 7), normal(RNG, 2))


def test_dimensions_that_are_numbers_go_by_their_place():
    for declared, index, place in (("2, HQ", "j, h", 0), ("HQ, 2", "h, j", 1)):
        rejects(f", but dimension {place} has size 2 in 'score'",
                attend(f"score s + w[{index}]", f", w: f32[{declared}]"),
                *qkv(RNG, 5, 7), normal(RNG, 2, 2))


@pytest.mark.parametrize("clauses", [
    "where i - j < 6 and j <= i score s + w[i - j]",
    "where 0 <= i - j < 6 and w[i - j] > 0",
    "where i - j < 0 or i - j >= 6 or w[i - j] > 0",
    "score select(0 <= i - j and i - j < 6, w[i - j], s)",
])
def test_what_is_not_needed_may_be_out_of_bounds(clauses):
    out = program(attend(clauses, ", w: f32[N]"))(*qkv(RNG, 5, 7), normal(RNG, 6))
    assert np.all(np.isfinite(out))


def test_a_division_that_is_not_needed_may_be_by_zero():
    program(attend("where j == 0 or i mod j == 0"))(*qkv(RNG, 5, 7))


def test_integers_are_not_divided_by_zero():
    rejects(" is divided by zero", attend("where i mod j == 0"), *qkv(RNG, 5, 7))


def test_reals_may_be_divided_by_zero():
    q, k, v = qkv(RNG, 5, 7)
    out = program(attend("score select(j == 3, -1 / float(j - 3), s)"))(q, k, v)
    assert np.all(np.isfinite(out))


@pytest.mark.parametrize("target", ["oracle", "cpu"])
@pytest.mark.parametrize("operator", ["floordiv", "ceildiv", "mod"])
@pytest.mark.parametrize("divisor", ["(0 * n)", "(n - n)", "z"])
def test_no_division_of_integers_by_zero(operator, divisor, target):
    """A zero never removes a division, whatever is known about the divisor when compiling."""
    n, z = np.arange(1, 6, dtype=np.int32), np.zeros(5, dtype=np.int32)
    source = f"kernel f(n, z: i32[N]) -> i32[N] {{ return n {operator} {divisor}; }}"
    with pytest.raises(ArgumentError, match="is divided by zero"):
        program(source, target=target)(n, z)


@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_mod_has_the_sign_of_its_divisor(target):
    n, m = (x.ravel().astype(np.int32) for x in np.meshgrid([-7, -1, 0, 1, 7], [-5, -1, 1, 3]))
    found = program("kernel f(n, m: i32[N]) -> i32[N] { return n mod m; }", target=target)(n, m)
    np.testing.assert_array_equal(np.asarray(found), np.mod(n, m))


RAGGED_TABLES = """
kernel f(q: f32[ragged T, H, D], slope: f32[R, H], doc: i32[N]) -> f32[ragged T, H, D] {
  return attend(q, q, q) where j <= i and doc[i] == doc[j] score s * slope[b, h];
}"""


def test_tables_of_ragged_rows_have_an_entry_for_each():
    q, slope = normal(RNG, 12, 2, 4), np.ones((6, 2), np.float32)
    doc, offsets = np.zeros(9, np.int32), np.array([0, 5, 5, 12], np.int32)
    message = rejects(" and has an entry for each row", RAGGED_TABLES, q, slope, doc, offsets)
    assert "dimension R is 6 in 'slope', but 'T_offsets' has 3 rows" in message
    for target in ("cpu", "oracle"):
        program(RAGGED_TABLES, target=target)(q, slope[:3], doc, offsets)


@pytest.mark.parametrize("index", ["b", "b + h - h", "h + 2 * b - (b + h)", "-(-b)"])
@pytest.mark.parametrize("declared, spelled", [("R", "R is 6 in 'w'"), ("6", "0 of 'w' is 6")])
def test_every_dimension_read_with_b_counts_the_rows(index, declared, spelled):
    """Names and numbers alike, and indices that linear arithmetic makes b."""
    source = f"""kernel f(q: f32[ragged T, H, D], w: f32[{declared}, H]) -> f32[ragged T, H, D] {{
  return attend(q, q, q) score s * w[{index}, h];
}}"""
    q, w = normal(RNG, 12, 2, 4), np.ones((6, 2), np.float32)
    message = rejects(" and has an entry for each row", source, q, w,
                      np.array([0, 5, 5, 12], np.int32))
    assert f"dimension {spelled}, but 'T_offsets' has 3 rows" in message
    # Without tokens, results have size zero.
    rejects("but 'T_offsets' has 1 row:", source, q[:0], w, np.zeros(2, np.int32))
    rows = np.array([0, 5, 5, 12, 12, 12, 12], np.int32)
    for target in ("cpu", "oracle"):
        program(source, target=target)(q, w, rows)


@pytest.mark.parametrize("index", ["min(b, 2)", "b floordiv 2", "b + 1 - 1 + 1", "h - h"])
def test_other_indices_count_no_rows(index):
    source = f"""kernel f(q: f32[ragged T, H, D], w: f32[6]) -> f32[ragged T, H, D] {{
  return attend(q, q, q) score s * w[{index}];
}}"""
    for target in ("cpu", "oracle"):
        program(source, target=target)(normal(RNG, 12, 2, 4), np.ones(6, np.float32),
                                       np.array([0, 5, 5, 12], np.int32))


@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_tables_of_packed_tokens_by_another_name_are_warned_of(target):
    q, slope = normal(RNG, 12, 2, 4), np.ones((3, 2), np.float32)
    offsets = np.array([0, 5, 5, 12], np.int32)
    call = program(RAGGED_TABLES, target=target)
    with pytest.warns(UserWarning, match="N = 12 of 'doc' is as large as all rows of T together"):
        call(q, slope, np.zeros(12, np.int32), offsets)
    packed = program(RAGGED_TABLES.replace("[N]", "[ragged T]"), target=target)
    distances = program("kernel f(q: f32[ragged T, H, D], bias: f32[N]) -> f32[ragged T, H, D] "
                        "{ return attend(q, q, q) where j <= i score s + bias[i - j]; }",
                        target=target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        packed(q, slope, np.zeros(12, np.int32), offsets)
        # Positions of a longer row, one row alone, and distances.
        call(q, slope, np.zeros(9, np.int32), offsets)
        call(q, slope[:1], np.zeros(12, np.int32), np.array([0, 12], np.int32))
        distances(q, np.zeros(12, np.float32), offsets)


POOLED = """kernel f(q: f32[B, T, H, D], k: f32[B, S, H, D], kc: f32[B, N, H, D], w: f32[S])
  -> (f32[B, T, H, D]{results})
{{
  p = {importance};
  return attend(q, k, k) in topk({scores}, 4){values};
}}"""


@pytest.mark.parametrize("importance, scores", [
    ("score(attend(q, pooled(kc, 1, 1)) score s + w[start(j)])", "p"),
    ("score(attend(q, pooled(kc, 4, 4)) where w[start(j)] > -9.0)", "2 * p"),
    ("activation(attend(q, pooled(kc, 4, 2)) score s + 1 floordiv (start(j) - S ceildiv 8 * 8) "
     "weight s)", "blocks(p, 8)"),
    ("score(attend(q, pooled(kc, 4, 4, offset=-8, memory=2)) score s + w[start(j)])",
     "blocks(p, 4)")])
@pytest.mark.parametrize("tokens, entries", [(0, 3), (16, 17), (60, 65), (64, 65), (256, 129)])
def test_entries_that_share_no_token_with_a_block_need_no_value(importance, scores, tokens,
                                                                entries):
    """The oracle and the compiled program agree for all ends of tiles of entries."""
    inputs = (normal(RNG, 1, 3, 2, 4), normal(RNG, 1, tokens, 2, 4),
              normal(RNG, 1, entries, 2, 4), np.ones(tokens, np.float32))
    source = POOLED.format(results="", values="", importance=importance, scores=scores)
    found = [np.asarray(program(source, target=target)(*inputs)) for target in ("oracle", "cpu")]
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.parametrize("tokens, entries", [(0, 3), (64, 65), (256, 129)])
def test_entries_whose_values_are_asked_for_need_one(tokens, entries):
    inputs = (normal(RNG, 1, 3, 2, 4), normal(RNG, 1, tokens, 2, 4),
              normal(RNG, 1, entries, 2, 4), np.ones(tokens, np.float32))
    clause = "(attend(q, pooled(kc, 4, 4)) score s + w[start(j)])"
    rejects(", but dimension ", POOLED.format(importance="prob" + clause, scores="p", results="",
                                              values=""), *inputs)
    rejects(", but dimension ",
            POOLED.format(importance="score" + clause, scores="p", values=", p",
                          results=", f32[B, T, H, N]"), *inputs)
