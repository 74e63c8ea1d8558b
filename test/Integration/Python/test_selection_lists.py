"""Selections handed in with counts or as lists behind each other (CSR), and unions of selections,
against plain NumPy: sets of blocks for each token and query head."""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import compile_for, normal, program

BLOCK, TOP, GROUP = 16, 4, 3
# Schedules for the CPU; None stands for the oracle.
SCHEDULES = [None, "", "order=union,tokens=3", "order=union,tokens=16", "order=query_major",
             "order=block_major", "order=key_major"]
HEADS = {"H": 2, "HQ": 2 * GROUP, "1": 1}
LENGTHS = [(1, 50), (0, 5), (17, 40), (33, 33), (64, 64), (65, 65)]


def attend(q, k, v, chosen):
    """One batch row: [T, HQ, D], [S, H, D], [S, H, DV]; `chosen(t, h)` is a set of blocks."""
    tokens, heads, width = q.shape
    keys = np.arange(len(k))
    out = np.zeros((tokens, heads, v.shape[-1]))
    for t, h in np.ndindex(tokens, heads):
        key_head = h * k.shape[1] // heads
        seen = np.isin(keys // BLOCK, list(chosen(t, h))) & (keys <= t + len(k) - tokens)
        if not seen.any():
            continue
        scores = k[seen, key_head] @ q[t, h] / width**0.5
        weights = np.exp(scores - scores.max())
        out[t, h] = weights / weights.sum() @ v[seen, key_head]
    return out


class Padded:
    """Lists of TOP indices; only the first `count` are valid, the others are no blocks."""

    def __init__(self, rng, tokens, keys, heads, group):
        self.group = group
        blocks = -(-keys // BLOCK)
        rows = -(-tokens // group)
        self.idx = rng.integers(-1, blocks, (rows, heads, TOP)).astype(np.int32)
        self.count = rng.integers(0, TOP + 1, (rows, heads)).astype(np.int32)
        self.idx[np.arange(TOP) >= self.count[..., None]] = 12345

    def blocks(self, t, h, heads):
        place = t // self.group, h * self.idx.shape[1] // heads
        return set(self.idx[place][:self.count[place]].tolist()) - {-1}


class Packed:
    """Lists of 0 to TOP indices behind each other, and offsets."""

    def __init__(self, rng, tokens, keys, heads, group):
        self.group = group
        blocks = -(-keys // BLOCK)
        sizes = rng.integers(0, TOP + 1, (-(-tokens // group), heads))
        self.ptr = np.concatenate([np.zeros((1, heads)), np.cumsum(sizes, 0)]).astype(np.int32)
        self.ptr += rng.integers(0, 3, heads).astype(np.int32)
        # Entries outside of all lists hold -77, which is no block.
        self.col = np.full((self.ptr.max() + 2, heads), -77, np.int64)
        for head in range(heads):
            first, last = self.ptr[0, head], self.ptr[-1, head]
            self.col[first:last, head] = rng.integers(-1, blocks, last - first)

    def blocks(self, t, h, heads):
        head = h * self.col.shape[1] // heads
        first, last = self.ptr[t // self.group:t // self.group + 2, head]
        return set(self.col[first:last, head].tolist()) - {-1}


def kernel(selection, inputs, ragged):
    rows = "ragged T" if ragged else "B, T"
    keys = rows.replace("T", "S")
    return f"""kernel f(q: [{rows}, HQ, D], k, v: [{keys}, H, D], {inputs}) -> [{rows}, HQ, D]
{{
  return attend(q, k, v) in {selection} where j <= i;
}}"""


def padded_source(group, heads, ragged):
    lists = ("ragged " if ragged else "B, ") + ("M" if group else "T")
    tokens = f", tokens={group}" if group else ""
    return kernel(f"selection(idx, {BLOCK}{tokens}, count=n)",
                  f"idx: i32[{lists}, {heads}, {TOP}], n: i32[{lists}, {heads}]", ragged)


def packed_source(group, heads, ragged):
    batch = "ragged " if ragged else "B, "
    tokens = f", tokens={group}" if group else ""
    return kernel(f"selection(col, {BLOCK}{tokens}, offsets=ptr, top={TOP})",
                  f"col: i64[{batch}N, {heads}], ptr: i32[{batch}P, {heads}]", ragged)


def draw(rng, tokens, keys):
    return (normal(rng, tokens, 2 * GROUP, 8), normal(rng, keys, 2, 8), normal(rng, keys, 2, 8))


KINDS = {"padded": (Padded, padded_source, ("idx", "count")),
         "packed": (Packed, packed_source, ("col", "ptr"))}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("group", [0, 1, 7, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_dense_rows(kind, group, heads, schedule):
    make, source, names = KINDS[kind]
    rng = np.random.default_rng(group)
    run = compile_for(schedule, source(group, heads, ragged=False))
    for tokens, keys in LENGTHS:
        qkv = draw(rng, tokens, keys)
        lists = make(rng, tokens, keys, HEADS[heads], group or 1)
        found = run(*(each[None] for each in (*qkv, *(getattr(lists, name) for name in names))))
        expected = attend(*qkv, lambda t, h: lists.blocks(t, h, 2 * GROUP))
        np.testing.assert_allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("group", [0, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_ragged_rows(kind, group, heads, schedule):
    make, source, names = KINDS[kind]
    rng = np.random.default_rng(group)
    run = compile_for(schedule, source(group, heads, ragged=True))
    rows, lists = [], []
    for tokens, keys in [(5, 5), (0, 4), (8, 20), (33, 40), (9, 65)]:
        rows.append(draw(rng, tokens, keys))
        lists.append(make(rng, tokens, keys, HEADS[heads], group or 1))
    packed = dict(zip(("q", "k", "v"), map(np.concatenate, zip(*rows))))
    given = [np.concatenate([getattr(each, name) for each in lists]) for name in names]

    def offsets(sizes):
        return np.cumsum([0, *sizes], dtype=np.int32)

    packed["T_offsets"] = offsets(len(row[0]) for row in rows)
    packed["S_offsets"] = offsets(len(row[1]) for row in rows)
    if kind == "padded":
        packed |= {"idx": given[0], "n": given[1]}
        if group:
            packed["M_offsets"] = offsets(len(each.idx) for each in lists)
    else:
        packed |= {"col": given[0], "ptr": given[1],
                   "N_offsets": offsets(len(each.col) for each in lists),
                   "P_offsets": offsets(len(each.ptr) for each in lists)}
    found = run(**packed)
    expected = np.concatenate([
        attend(*row, lambda t, h, each=each: each.blocks(t, h, 2 * GROUP))
        for row, each in zip(rows, lists)])
    np.testing.assert_allclose(found, expected, atol=1e-5)


UNIONS = {
    # Lists of tiles for all heads, of tokens by head, and packed ones.
    "tiles_and_tokens": (("near", "1", 8), ("own", "H", 0)),
    "per_query_head": (("own", "HQ", 0), ("near", "1", 7)),
    "tiles_of_tiles": (("near", "H", 16), ("own", "H", 4), ("far", "1", 8)),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", UNIONS)
def test_union(case, schedule):
    rng = np.random.default_rng(3)
    inputs, parts = [], []
    for name, heads, group in UNIONS[case]:
        rows = f"M{name}" if group else "T"
        inputs.append(f"{name}: i32[B, {rows}, {heads}, {TOP}], "
                      f"n{name}: i32[B, {rows}, {heads}]")
        tokens = f", tokens={group}" if group else ""
        parts.append(f"selection({name}, {BLOCK}{tokens}, count=n{name})")
    source = kernel(f"union({', '.join(parts)})", ", ".join(inputs), ragged=False)
    run = compile_for(schedule, source)
    for tokens, keys in LENGTHS:
        qkv = draw(rng, tokens, keys)
        lists = [Padded(rng, tokens, keys, HEADS[heads], group or 1)
                 for _, heads, group in UNIONS[case]]
        found = run(*(each[None] for each in qkv),
                    *(each[None] for one in lists for each in (one.idx, one.count)))
        expected = attend(*qkv, lambda t, h: set().union(
            *(one.blocks(t, h, 2 * GROUP) for one in lists)))
        np.testing.assert_allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_indices_of_a_union(target):
    """Scores choose some blocks and lists others: a set, ascending, each block once."""
    run = program(f"""kernel f(p: f32[B, T, H, N], k: [B, S, H, D], col: i32[B, C, 1],
    ptr: i32[B, P, 1]) -> i32[B, T, H, {3 + TOP}]
{{
  best = topk(blocks(p, {BLOCK}, map=identity, of=S), 3);
  return indices(union(best, selection(col, {BLOCK}, of=S, tokens=8, offsets=ptr,
                                      top={TOP})));
}}""", target=target)
    rng = np.random.default_rng(1)
    for tokens in (1, 8, 9, 50):
        p = normal(rng, tokens, 2, -(-tokens // BLOCK))
        lists = Packed(rng, tokens, tokens, 1, 8)
        found = run(p[None], normal(rng, 1, tokens, 2, 8), lists.col[None].astype(np.int32),
                    lists.ptr[None])
        for t, h in np.ndindex(tokens, 2):
            best = set(np.argsort(-p[t, h], kind="stable")[:3].tolist())
            wanted = sorted(best | lists.blocks(t, h, 2))
            wanted += [-1] * (3 + TOP - len(wanted))
            assert found[0, t, h].tolist() == wanted


@pytest.mark.parametrize("target", ["oracle", "cpu"])
@pytest.mark.parametrize(("edit", "message"), [
    (lambda lists: lists.ptr.__setitem__((2, 1), 99),
     "offset 'ptr' at [0, 2, 1] is 99, but must be 0 to 12, the number of indices of batch row 0"),
    (lambda lists: lists.ptr.__setitem__((0, 0), -1),
     "offset 'ptr' at [0, 0, 0] is -1, but must be 0 to 12"),
    (lambda lists: lists.ptr.__setitem__((slice(2, 3), 0), 1),
     "offset 'ptr' at [0, 2, 0] is 1 behind 2: offsets don't decrease"),
    (lambda lists: lists.ptr.__setitem__((slice(2, 3), 0), 7),
     "offset 'ptr' at [0, 2, 0] is 7 behind 2: a list has at most 4 (top) indices, found 5"),
    (lambda lists: lists.col.__setitem__((lists.ptr[0, 1], 1), 9), "is 9; expected -1 or 0 to 2"),
])
def test_bad_lists(edit, message, target):
    rng = np.random.default_rng(5)
    run = program(packed_source(8, "H", ragged=False), target=target)
    qkv = draw(rng, 40, 40)
    lists = Packed(rng, 40, 40, 2, 8)
    lists.ptr[:] = np.arange(6)[:, None] * 2
    lists.col = np.zeros((12, 2), np.int64)
    edit(lists)
    with pytest.raises(nsacc.errors.ArgumentError) as error:
        run(*(each[None] for each in (*qkv, lists.col, lists.ptr)))
    assert message in str(error.value)


@pytest.mark.parametrize("target", ["oracle", "cpu"])
@pytest.mark.parametrize("count", [-1, TOP + 1])
def test_bad_count(count, target):
    rng = np.random.default_rng(5)
    run = program(padded_source(8, "H", ragged=False), target=target)
    lists = Padded(rng, 40, 40, 2, 8)
    lists.count[3, 1] = count
    with pytest.raises(nsacc.errors.ArgumentError,
                       match=rf"count 'n' at \[0, 3, 1\] is {count}, but must be 0 to 4"):
        run(*(each[None] for each in (*draw(rng, 40, 40), lists.idx, lists.count)))


@pytest.mark.parametrize("target", ["oracle", "cpu"])
@pytest.mark.parametrize("offsets", [5, 7])
def test_number_of_offsets(offsets, target):
    rng = np.random.default_rng(5)
    run = program(packed_source(8, "H", ragged=False), target=target)
    with pytest.raises(nsacc.errors.ArgumentError,
                       match="expected 6: T has 40 tokens, each 8 of them have a list, and "
                             "offsets are one more than lists"):
        run(*(each[None] for each in (*draw(rng, 40, 40), np.zeros((3, 2), np.int64),
                                      np.zeros((offsets, 2), np.int32))))


@pytest.mark.parametrize("order", ["order=union,tokens=16", "order=block_major"])
def test_heads_first(order):
    """CSR as in sparse tensors of PyTorch: a matrix for each batch row and head."""
    run = program(f"""kernel f(q: [B, heads HQ, T, D], k, v: [B, heads H, S, D], col: i64[B, H, N],
    ptr: i32[B, H, P]) -> [B, HQ, T, D]
{{
  return attend(q, k, v) in selection(col, {BLOCK}, tokens=8, offsets=ptr, top={TOP}) where j <= i;
}}""", target="cpu", schedule=order)
    rng = np.random.default_rng(8)
    qkv = draw(rng, 40, 40)
    lists = Packed(rng, 40, 40, 2, 8)
    found = run(*(np.ascontiguousarray(each.swapaxes(0, 1))[None] for each in qkv),
                np.ascontiguousarray(lists.col.T)[None], np.ascontiguousarray(lists.ptr.T)[None])
    expected = attend(*qkv, lambda t, h: lists.blocks(t, h, 2 * GROUP))
    np.testing.assert_allclose(found[0].swapaxes(0, 1), expected, atol=1e-5)


@pytest.mark.parametrize("target", ["oracle", "cpu"])
def test_rows_behind_the_last_list_are_empty(target):
    """Offsets are one more than lists, and so are the rows of a union that has theirs; a coarser
    part has lists there, too. The result says that the offsets' dimension is tokens."""
    run = program(f"""kernel f(q: [B, T, heads HQ, D], k: [B, S, heads H, D], col: i32[B, H, N],
    ptr: i32[B, H, P], wide: i32[B, M, 1, 1]) -> (whole: i32[B, H, P, {TOP + 1}], o: [B, T, HQ, D])
{{
  rows = selection(col, {BLOCK}, tokens=8, offsets=ptr, top={TOP});
  both = union(rows, selection(wide, {BLOCK}, tokens=16));
  return indices(both), attend(q, k, k) in both where j <= i;
}}""", target=target)
    rng = np.random.default_rng(8)
    tokens = 40
    lists = Packed(rng, tokens, tokens, 2, 8)
    q, k, _ = draw(rng, tokens, tokens)
    wide = np.zeros((1, 3, 1, 1), np.int32)
    found, out = run(q[None], k[None], lists.col.T[None].astype(np.int32).copy(),
                     lists.ptr.T[None].copy(), wide)
    assert (found[0, :, 5] == -1).all()
    for row, head in np.ndindex(5, 2):
        wanted = sorted(lists.blocks(8 * row, head, 2) | {0})
        assert found[0, head, row].tolist() == wanted + [-1] * (TOP + 1 - len(wanted))
    expected = attend(q, k, k, lambda t, h: lists.blocks(t, h, 2 * GROUP) | {0})
    np.testing.assert_allclose(out[0], expected, atol=1e-5)
