"""Keys split over programs, with merged states: the same result for any number of parts."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

import nsacc
from harness import normal, prefill_and_decode, program, qkv
from nsacc.errors import NsaccError

DENSE = "(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])"
CLAUSES = {
    "full": "",
    "causal": "where j <= i",
    "band": "where 0 <= i - j < 13",
    "two ranges": "where j < 5 or 0 <= i - j < 20",
    "four ranges": "where j < 3 or 9 <= j < 12 or 20 <= j < 27 or 0 <= i - j < 6",
    "no range": "where (i - j) mod 3 == 0",
    "nothing": "where j < 0",
    "scored": "where j <= i score tanh(s / 4.0) * 4.0 - 0.1 * float(i - j)",
    "sink": "where j <= i sink 0.3",
    "weights": "where j <= i weight max(s, 0.0)",
    "normalized": "where j <= i weight max(s, 0.0) normalize 1.0 + sum",
}
SCHEDULES = ["splits=1", "splits=2", "splits=5", "splits=7, keys=8, tokens=3; *.merge: tokens=2",
             "splits=64, keys=16; *.merge: tokens=1", "splits=3, tokens=16, part=4", "splits=auto",
             "splits=3; *.merge: tokens=4, heads=1", "heads=1", "heads=4, tokens=5, keys=8",
             "heads=3, splits=3; *.merge: tokens=1, heads=5", "heads=2, splits=auto"]


def agrees(source: str, inputs: list[np.ndarray], schedule: str) -> None:
    expected = program(source)(*inputs)
    found = program(source, target="cpu", schedule=schedule)(*inputs)
    for wanted, each in zip(as_tuple(expected), as_tuple(found), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=2e-4, atol=2e-5)


def as_tuple(results) -> tuple:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("clause", CLAUSES)
def test_dense_rows(clause, schedule):
    source = (f"kernel f{DENSE} -> [B, T, HQ, DV] "
              f"{{ return attend(q, k, v) {CLAUSES[clause]}; }}")
    rng = np.random.default_rng(1)
    for group in (1, 3):
        for queries, keys in prefill_and_decode(16):
            agrees(source, qkv(rng, queries, keys, group), schedule)


@pytest.mark.parametrize("group", [1, 5, 7, 16])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_log_sum_exps(schedule, group):
    source = (f"kernel f{DENSE} -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) "
              "{ a = attend(q, k, v) where j <= i; return a, lse(a); }")
    only = (f"kernel f{DENSE} -> f32[B, T, HQ] "
            "{ a = attend(q, k, v) where j <= i; return lse(a); }")
    for each in (source, only):
        agrees(each, qkv(np.random.default_rng(2), 17, 65, group), schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ragged_rows(schedule):
    source = ("kernel f(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, D]) "
              "-> [ragged T, HQ, D] { return attend(q, k, v) where j <= i; }")
    rng = np.random.default_rng(3)
    queries, keys = np.array([1, 0, 7, 16, 1]), np.array([33, 5, 7, 80, 0])
    agrees(source, [normal(rng, queries.sum(), 6, 8), normal(rng, keys.sum(), 2, 8),
                    normal(rng, keys.sum(), 2, 8),
                    *(np.concatenate([[0], np.cumsum(each)]).astype(np.int32)
                      for each in (queries, keys))], schedule)


HEADS = [(128, 1, 96), (71, 1, 130), (48, 2, 400), (150, 2, 256)]


@pytest.mark.parametrize("heads", HEADS, ids=str)
@pytest.mark.parametrize("schedule", ["splits=3; *.merge: tokens=1", "splits=2; *.merge: tokens=2",
                                      "splits=5, channels=64; *.merge: tokens=1",
                                      "splits=3; *.merge: tokens=1, heads=1",
                                      "splits=2; *.merge: tokens=2, heads=50",
                                      "splits=2; *.merge: heads=auto"])
def test_many_heads_of_wide_rows(schedule, heads):
    """Programs that merge share the heads of a key head; each finds its heads' states."""
    query_heads, key_heads, channels = heads
    source = ("kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], g: [B, T, HQ], "
              "w: [HQ, DV]) -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) "
              "{ a = attend(q, k, v) where j <= i; return g * a + w, lse(a); }")
    rng = np.random.default_rng(5)
    for queries, keys in [(1, 70), (3, 33)]:
        agrees(source, [normal(rng, 2, queries, query_heads, 8),
                        normal(rng, 2, keys, key_heads, 8),
                        normal(rng, 2, keys, key_heads, channels),
                        normal(rng, 2, queries, query_heads),
                        normal(rng, query_heads, channels)], schedule)


@pytest.mark.parametrize("lists", ["H", "HQ"])
@pytest.mark.parametrize("heads", [(128, 1, 96), (34, 2, 520)], ids=str)
@pytest.mark.parametrize("schedule", ["order=key_major; *.merge: tokens=3", "order=union, splits=3",
                                      "order=key_major, tokens=9; *.merge: tokens=9"])
def test_selections_of_many_heads(schedule, heads, lists):
    query_heads, key_heads, channels = heads
    source = (f"kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
              f"idx: i32[B, T, {lists}, 2]) -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) "
              "{ a = attend(q, k, v) in selection(idx, 8) where j <= i; return a, lse(a); }")
    rng = np.random.default_rng(6)
    list_heads = {"H": key_heads, "HQ": query_heads}[lists]
    for queries, keys in [(1, 70), (5, 33)]:
        blocks = -(-keys // 8)
        idx = np.stack([rng.permutation(blocks)[:2] for _ in range(2 * queries * list_heads)])
        agrees(source, [normal(rng, 2, queries, query_heads, 8),
                        normal(rng, 2, keys, key_heads, 8),
                        normal(rng, 2, keys, key_heads, channels),
                        idx.reshape(2, queries, list_heads, 2).astype(np.int32)], schedule)


@pytest.mark.parametrize("schedule", [
    "splits=3", "near: splits=2", "far: splits=4; near: splits=1", "far: splits=2, program=own",
    "near: splits=2; far: order=key_major, splits=3",
    "chosen: order=key_major; splits=5"])
def test_beside_others(schedule):
    """States that a program merges beside its attentions, pooled keys and selections."""
    source = (f"kernel f{DENSE} -> [B, T, HQ, DV] {{"
              " near = attend(q, k, v) where 0 <= i - j < 9;"
              " far = attend(q, pool(k, 4), pool(v, 4)) where end(j) <= i;"
              " sel = topk(blocks(prob(far), 8), 3) keep last 1;"
              " chosen = attend(q, k, v) in sel where j <= i;"
              " return merge(near, far) + chosen; }")
    rng = np.random.default_rng(4)
    for group in (1, 3):
        for queries, keys in [(37, 61), (1, 127), (16, 16)]:
            agrees(source, qkv(rng, queries, keys, group), schedule)


@pytest.mark.parametrize("schedule", [
    "order=union, splits=2", "order=union, splits=7, keys=8, tokens=3; *.merge: tokens=2",
    "order=union, splits=64, keys=16, tokens=1", "order=union, splits=auto"])
@pytest.mark.parametrize("result", ["[B, T, HQ, DV]", "(out: [B, T, HQ, DV], lse: f32[B, T, HQ])"])
def test_lists_of_blocks(result, schedule):
    """Parts of a tile's union: lists repeat blocks, and some rows have none."""
    returned = "a, lse(a)" if "lse" in result else "a"
    source = (f"kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
              f"idx: i32[B, T, H, 6]) -> {result} "
              "{ a = attend(q, k, v) in selection(idx, 8) where j <= i; "
              f"return {returned}; }}")
    rng = np.random.default_rng(8)
    for group in (1, 3, 7):
        for queries, keys in prefill_and_decode(8):
            blocks = -(-keys // 8)
            idx = rng.integers(-1, max(blocks, 1), (2, queries, 2, 6)).astype(np.int32)
            if blocks == 0:
                idx[:] = -1
            half = idx[:, :queries // 2]
            half[half < 3] = -1
            agrees(source, [*qkv(rng, queries, keys, group), idx], schedule)


@pytest.mark.parametrize("schedule, message", [
    ("order=block_major, splits=2", "aren't split"),
    ("order=query_major, splits=2", "aren't split"),
    ("order=union, splits=2, tokens=8; *.exact: tokens=4", "has other lists")])
def test_lists_that_are_not_split(schedule, message):
    """Lists of other tiles would be cut elsewhere than the lists of repaired rows."""
    source = ("kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
              "idx: i32[B, T, H, 6]) -> [B, T, HQ, DV] "
              "{ a = attend(q, k, v) in selection(idx, 8) where j <= i; return a; }")
    with pytest.raises(NsaccError, match=message):
        run = nsacc.compile(source, target="sm_90a", schedule=f"a: {schedule}")
        run.ir("tile", HQ=2, H=2, D=64, DV=64)


def test_states_are_merged_in_order():
    """More parts than tiles, and parts that see nothing: the same bits every time."""
    source = f"kernel f{DENSE} -> [B, T, HQ, DV] {{ return attend(q, k, v) where j <= i; }}"
    inputs = qkv(np.random.default_rng(5), 5, 130, 3)
    run = program(source, target="cpu", schedule="splits=9, keys=16")
    first = run(*inputs)
    for _ in range(5):
        np.testing.assert_array_equal(run(*inputs), first)
    # A part of one tile's keys is the whole fold.
    alone = program(source, target="cpu", schedule="splits=1, keys=256")(*inputs)
    np.testing.assert_array_equal(
        program(source, target="cpu", schedule="splits=4, keys=256")(*inputs), alone)


def test_infinite_scores():
    source = (f"kernel f{DENSE} -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) "
              "{ a = attend(q, k, v) where j <= i; return a, lse(a); }")
    q, k, v = qkv(np.random.default_rng(6), 3, 40, batch=1, heads=1)
    for place, value in [(7, np.inf), (20, -np.inf), (33, np.nan), (5, 1e30)]:
        keys = k.copy()
        keys[0, place] = value
        expected = program(source)(q, keys, v)
        for schedule in SCHEDULES:
            found = program(source, target="cpu", schedule=schedule)(q, keys, v)
            for wanted, each in zip(expected, found, strict=True):
                np.testing.assert_array_equal(np.isnan(each), np.isnan(wanted))
                np.testing.assert_allclose(each, wanted, rtol=2e-4, atol=2e-5)


def compile_for_gpu(folder, source: str, schedule: str) -> str:
    """Programs over tiles as a GPU's are, exact ones among them."""
    (folder / "f.nsa").write_text(source)
    imported = subprocess.run(["nsacc-translate", "--import-nsa", folder / "f.nsa"],
                              check=True, capture_output=True, text=True).stdout
    return subprocess.run(
        ["nsacc-opt", "-", "--nsacc-nsa-phase", "--nsa-specialize=dims=HQ=6,H=2,D=8",
         f"--nsa-set-schedule=device=sm_90a queries=few schedule={schedule}",
         "--convert-nsa-to-nsatile=multiprocessors=132", "--nsatile-online-softmax"],
        input=imported, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("clause", ["where j <= i", "where 0 <= i - j < 70",
                                    "where j < 9 or j <= i", "where j < n"])
@pytest.mark.parametrize("schedule", ["tokens=8,keys=24,splits=4;*.exact:tokens=4,keys=16",
                                      "tokens=6,keys=40,splits=3;*.exact:tokens=2,keys=32",
                                      "tokens=4,keys=16,splits=auto;*.exact:tokens=4,keys=16"])
def test_exact_programs_have_the_same_parts(tmp_path, clause, schedule):
    """A GPU's exact program repairs rows of some parts. Here it computes the first parts of all
    rows, however many, and the others stay the fast one's: keys count once each."""
    scalar = ", n: i32" if "n" in clause.split()[-1] else ""
    source = (f"kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D]{scalar}) -> f32[B, T, HQ, D] "
              f"{{ return attend(q, k, k) {clause}; }}")
    module = compile_for_gpu(tmp_path, source, schedule)
    exact, = re.findall(r"nsatile\.launch @f_partial_1 grid\(%\w+, %\w+, (%\w+)\)", module)
    rng = np.random.default_rng(7)
    q, k, _ = qkv(rng, 19, 203, 3, width=8, value_width=8)
    n = np.array(101, np.int32)
    inputs = [q, k, *([n] if scalar else [])]
    wanted = program(source)(*inputs)
    names = ["q", "k", *(["n"] if scalar else [])]
    shapes = ["x".join(map(str, each.shape)) or "1" for each in [*inputs, wanted]]
    for name, each in zip(names, inputs):
        np.save(tmp_path / f"{name}.npy", each)
    for parts in (1, 2, 5, 9):
        edited = re.sub(r"(nsatile\.launch @f_partial_1 grid\(%\w+, %\w+, )%\w+\)",
                        r"\1%exact_parts)", module)
        edited = edited.replace("    nsatile.launch @f_partial_1",
                                f"    %few = arith.constant {parts} : index\n"
                                f"    %exact_parts = arith.minsi %few, {exact} : index\n"
                                "    nsatile.launch @f_partial_1")
        (tmp_path / "plan.mlir").write_text(edited)
        subprocess.run(["nsacc-tile-run", tmp_path / "plan.mlir", *shapes,
                        *(part for name in names
                          for part in ("--input", f"{name}={tmp_path / name}.npy")),
                        "--output", f"out={tmp_path / 'out.npy'}"], check=True, capture_output=True)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=2e-4, atol=2e-5,
                                   err_msg=f"{parts} parts by the exact program")
