"""A mask's meaning doesn't depend on its spelling, over tokens and over pooled keys."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import nsacc
from harness import normal

DENSE = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
RAGGED = "q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV]"
SCHEDULES = ["", "tokens=16,keys=16", "order=key_major,splits=3,tokens=8,keys=16"]
SIZES = [(0, 3), (3, 0), (1, 1), (1, 34), (5, 31), (31, 31), (33, 33), (40, 7), (33, 65)]

# Kinds of keys, and their extents as arithmetic.
KEYS = {
    "tokens": ("k", "v", "j", "(j + 1)"),
    "drop": ("pool(k, 4, 2)", "pool(v, 4, 2)", "(2 * j)", "(2 * j + 4)"),
    "average": ("pool(k, 4)", "pool(v, 4)", "(4 * j)", "(4 * j + 4)"),
    "average of overlaps": ("pool(k, 6, 3, tail=average)", "pool(v, 6, 3, tail=average)",
                            "(3 * j)", "(3 * j + 6)"),
    "zeros on the right": ("pool(k, 5, tail=zeros_right)", "pool(v, 5, tail=zeros_right)",
                           "(5 * j)", "(5 * j + 5)"),
    "zeros on the left": ("pool(k, 4, 2, tail=zeros_left)", "pool(v, 4, 2, tail=zeros_left)",
                          "(2 * j - 2)", "(2 * j + 2)"),
    "single tokens": ("pool(k, 1)", "pool(v, 1)", "j", "(j + 1)"),
}

# Spellings of one mask each; {start} and {end} are the key's.
MASKS = {
    "raw index": ["j <= i", "not (i < j)", "i - j >= 0", "j < i + 1", "0 <= i - j",
                  "-i <= -j", "2 * j <= 2 * i", "max(i, j) == i", "not (j > i)",
                  "select(j > i, false, true)", "j <= i and j <= S + T"],
    "starts": ["start(j) <= i", "{start} <= i", "not ({start} > i)", "i - {start} >= 0"],
    "ends": ["end(j) <= i", "{end} <= i", "{end} - 1 < i", "not (i < end(j))"],
    "ends within": ["end(j) <= S", "{end} <= S", "S - end(j) >= 0"],
    "band of the index": ["0 <= i - j < 7", "i - 7 < j and j <= i", "not (j <= i - 7 or j > i)"],
    "band to both sides": ["-3 <= i - j <= 3", "abs(i - j) <= 3", "max(i - j, j - i) < 4",
                           "2 * abs(i - j) < 7", "5 - abs(j - i) > 1", "abs(i - j) floordiv 4 < 1",
                           "min(j - i, i - j) >= -3"],
    "far away": ["j <= i - 9 or j >= i + 9", "abs(i - j) >= 9", "not (abs(j - i) < 9)",
                 "9 - abs(i - j) <= 0", "min(i - j, j - i) <= -9", "9 <= abs(i - j)",
                 "8 < abs(j - i)", "not (9 > abs(i - j))"],
    "distance by row": ["j <= 2 * i and 0 <= i", "abs(i - j) <= i", "i >= abs(j - i)",
                        "not (abs(j - i) > i)", "not (i < abs(i - j))"],
    "prefix": ["j <= i or j <= 10", "j <= max(i, 10)", "not (j > i and j > 10)",
               "min(j - i, j - 10) <= 0", "max(i, 10) - j >= 0", "max(i - j, 10 - j) + 1 > 0"],
    "past of a part": ["j <= i and j < 20", "j <= min(i, 19)", "max(j - i, j - 19) <= 0",
                       "min(i, 19) - j >= 0", "not (min(i - 20, -1) < j - 20)",
                       "min(max(j, i), 19) == min(i, 19) and j < 20"],
    "band of extents": ["start(j) <= i and end(j) > i - 9", "{start} <= i and i - {end} < 9"],
    "diagonal": ["i == j", "i <= j and j <= i", "not (i != j)", "i - j == 0", "(i - j) * 5 == 0"],
    "behind": ["j >= i", "not (j < i)", "i - j <= 0"],
    "blocks": ["j floordiv 8 <= i floordiv 8", "j - j mod 8 <= i", "8 * (j floordiv 8) <= i"],
    "two parts": ["j < 3 or j > i - 4", "not (j >= 3 and j <= i - 4)", "j <= 2 or i - j < 4"],
    "rows": ["j <= t", "j <= i - S + T", "not (t < j)"],
    "bounds that no size reaches": [
        "j <= i", "j <= i and j < 2147483648", "j <= i and not (j >= 3000000000)",
        "j <= i and not (1099511627776 > i + j and j < 0)", "j <= i and i + 1099511627776 > j",
        "j <= i and i - j < 5000000000", "j <= i and i - 3000000000 <= j"],
    "sums of a row": [
        "j <= i", "j <= i and t + T < 16777216", "j <= i and i + S <= 100000000",
        "j <= i and t * 2 < 33554432", "j <= i and b * 3 + t < 100000000",
        "j <= i and not (h + T >= 536870911)"],
}


@functools.cache
def compiled(source: str, target: str, schedule: str = "") -> nsacc.Program:
    return nsacc.compile(source, target=target, schedule=schedule, dtype="f32")


def agrees(source: str, schedule: str, inputs: list[np.ndarray], meaning: str = "") -> None:
    """The CPU's results of `source` are the oracle's of it, or of `meaning`."""
    expected = compiled(meaning or source, "oracle")(*inputs)
    actual = compiled(source, "cpu", schedule)(*inputs)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (actual, expected))):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-4, atol=2e-5)


def dense(queries: int, tokens: int, group: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [normal(rng, 2, queries, 2 * group, 16), normal(rng, 2, tokens, 2, 16),
            normal(rng, 2, tokens, 2, 16)]


def attention(keys: str, mask: str, head: str = DENSE, rows: str = "B, T") -> str:
    key, value, start, end = KEYS[keys]
    return (f"kernel f({head}) -> (out: [{rows}, HQ, DV], lse: f32[{rows}, HQ]) "
            f"{{ a = attend(q, {key}, {value}) where {mask.format(start=start, end=end)}; "
            "return a, lse(a); }")


LENGTHS = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], len: i32[B]"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", ["j < min(i + 1, len[b])", "max(j - i, j - len[b] + 1) <= 0",
                                  "min(i, len[b] - 1) >= j", "not (j > min(i, len[b] - 1))"])
def test_bounds_beside_what_is_read(mask, schedule):
    """A table's element isn't known, but the other side of the comparison is."""
    for queries, tokens in SIZES:
        inputs = [*dense(queries, tokens), np.asarray([tokens // 2, tokens], np.int32)]
        agrees(attention("tokens", mask, LENGTHS), schedule, inputs,
               meaning=attention("tokens", "j <= i and j < len[b]", LENGTHS))


@pytest.mark.parametrize("mask", ["min(i, 12 floordiv (j - 40)) >= j",
                                  "max(j - i, 12 mod (j - 40)) < 0"])
def test_pairs_that_have_no_value_are_looked_at(mask):
    """Bounds would leave out the key that divides by 0."""
    assert compiled(attention("tokens", mask), "cpu")(*dense(5, 40))
    with pytest.raises(nsacc.errors.ArgumentError, match="divided by zero"):
        compiled(attention("tokens", mask), "cpu")(*dense(5, 41))
    with pytest.raises(nsacc.errors.ArgumentError, match="divided by zero"):
        compiled(attention("tokens", mask), "oracle")(*dense(5, 41))


def turn(choices, *names: str):
    """One of the choices, a different one for each neighbour among kinds of keys and masks."""
    places = (list(kind).index(name) for kind, name in zip((KEYS, MASKS), names))
    return choices[sum(places) % len(choices)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("keys", KEYS)
def test_first_spelling_agrees_with_the_oracle(keys, mask):
    for queries, tokens in SIZES:
        agrees(attention(keys, MASKS[mask][0]), turn(SCHEDULES, keys, mask),
               dense(queries, tokens))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("keys", KEYS)
def test_other_spellings_mean_the_same(keys, mask):
    others = MASKS[mask][1:]
    if keys != "tokens":
        others = [turn(others, keys)]
    for other in others:
        for queries, tokens in [(33, 33), (40, 7), (33, 65)]:
            agrees(attention(keys, other), SCHEDULES[1], dense(queries, tokens),
                   meaning=attention(keys, MASKS[mask][0]))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("keys", ["tokens", "drop", "average", "zeros on the left"])
def test_rows_of_a_ragged_batch(keys, mask):
    """Keys of other rows stand behind the end of a row's keys."""
    rng = np.random.default_rng(1)
    offsets = np.array([0, 5, 5, 38, 39], dtype=np.int32), np.array([0, 7, 9, 42, 50], np.int32)
    inputs = [normal(rng, 39, 4, 16), normal(rng, 50, 2, 16), normal(rng, 50, 2, 16), *offsets]
    mask = MASKS[mask][0]
    if mask == "raw index":
        mask = mask.replace(" and j <= S + T", "")
    agrees(attention(keys, mask, RAGGED, "ragged T"), SCHEDULES[1], inputs)


@pytest.mark.parametrize("mask", ["j <= i", "i - j < 7 and j <= i", "true"])
def test_masks_through_tables(mask):
    """A table with the mask's value for each pair."""
    head = DENSE + ", allowed: bool[T, S]"
    table = (f"kernel f({head}) -> [B, T, HQ, DV] "
             "{ return attend(q, k, v) where allowed[t, j]; }")
    plain = f"kernel f({head}) -> [B, T, HQ, DV] {{ return attend(q, k, v) where {mask}; }}"
    for queries, tokens in [(1, 34), (33, 33), (40, 7), (33, 65)]:
        i = np.arange(queries)[:, None] + tokens - queries
        j = np.arange(tokens)[None, :]
        allowed = np.broadcast_to({"true": j >= 0, "j <= i": j <= i}.get(
            mask, (j <= i) & (i - j < 7)), (queries, tokens)).copy()
        agrees(table, SCHEDULES[1], [*dense(queries, tokens), allowed], meaning=plain)


# Other uses of pooled keys under a mask of their index, and their type.
USES = {
    "prob(a)": "f32[B, T, H, N]",
    "score(a)": "f32[B, T, H, N]",
    "prob(a, heads=none)": "f32[B, T, HQ, N]",
    "indices(topk(blocks(prob(a), 4), 5))": "i32[B, T, H, N]",
    "indices(topk(blocks(score(a), 4), 3))": "i32[B, T, H, N]",
}


@pytest.mark.parametrize("mask", ["j <= i", "0 <= i - j < 7"])
@pytest.mark.parametrize("keys", [name for name in KEYS if name != "tokens"])
@pytest.mark.parametrize("use", USES)
def test_importance_of_pooled_keys(use, keys, mask):
    """Entries behind the last window are absent, and aren't selected."""
    key = KEYS[keys][0]
    source = (f"kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> {USES[use]} "
              f"{{ a = attend(q, {key}) where {mask}; return {use}; }}")
    for queries, tokens in [(1, 34), (33, 33), (5, 31), (40, 7)]:
        agrees(source, SCHEDULES[1], dense(queries, tokens)[:2])


@pytest.mark.parametrize("clauses", [
    "where j <= i weight sigmoid(s) normalize visible + 1",
    "where j < i + 2 weight relu(s) normalize sum + 0.5 * visible",
    "where i == j weight s"])
@pytest.mark.parametrize("keys", KEYS)
def test_weights_count_visible_keys(keys, clauses):
    key, value, _, _ = KEYS[keys]
    source = (f"kernel f({DENSE}) -> [B, T, HQ, DV] "
              f"{{ return attend(q, {key}, {value}) {clauses}; }}")
    for queries, tokens in [(1, 34), (33, 33), (5, 31), (40, 7)]:
        agrees(source, turn(SCHEDULES, keys), dense(queries, tokens))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", ["j <= i", "i == j", "end(j) <= i", "start(j) <= i < end(j)",
                                  "-3 <= i - j <= 3"])
def test_declared_pooled_keys(mask, schedule):
    """More or fewer of them than windows in the tokens."""
    source = ("kernel f(q: [B, T, HQ, D], k: [B, S, H, D], c: [B, N, H, D]) -> [B, T, HQ, D] { "
              "kc = pooled(c, 4, 2, offset=1, memory=3); "
              f"return attend(q, k, k) + attend(q, kc, kc) where {mask}; }}")
    for queries, tokens, entries in [(33, 33, 19), (33, 33, 7), (5, 31, 70), (1, 34, 1), (9, 9, 0)]:
        q, k, _ = dense(queries, tokens)
        c = normal(np.random.default_rng(2), 2, entries, 2, 16)
        agrees(source, schedule, [q, k, c])
