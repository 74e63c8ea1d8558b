"""Dimensions that programs compute independently, as the compiler finds them: parts of the inputs
give parts of the results."""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import EXAMPLES

QKV = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, D]"
SELECT = ("a = attend(q, pool(k, 4), pool(v, 4)) where end(j) <= i; "
          "sel = topk(blocks(prob(a), 4), 2)")
USE = "return attend(q, k, v) in sel where j <= i;"
SIZES = {"B": 2, "T": 9, "S": 17, "HQ": 8, "H": 4, "D": 3, "DV": 2, "P": 5, "N": 6, "M": 4, "X": 4,
         "U": 9}
SMALL = {"nsa": {"block": 4, "len": 4, "stride": 2, "top": 3, "window": 5},
         "nsa_pooled_weights": {"block": 4, "len": 4, "stride": 2, "top": 3, "window": 5},
         "moba": {"block": 4, "top": 2}, "hstu_bsa": {}, "block_sparse": {"block": 4, "top": 2},
         "paged_decode": {"page": 4, "pages": 2}}
BATCH, HEADS = ("B",), ("HQ", "H")


def write(inputs: str, body: str, results: str = "[B, T, HQ, D]") -> str:
    return f"kernel f({inputs}) -> {results} {{ {body} }}"


# Programs with all dimensions that they compute independently.
APART = [
    (write(QKV, "return attend(q, k, v) where j <= i;"), {BATCH, HEADS}),
    (write(QKV + ", a: f32[HQ], z: f32",
           "return attend(q, k, v) score s + a[h] * (j - i) scale z sink a[h];"), {BATCH, HEADS}),
    (write(QKV + ", m: bool[S, B]", "return attend(q, k, v) where m[j, b];"), {BATCH, HEADS}),
    (write("q: [B, T, HQ, D], k: [B, S, 1, D], v: [B, S, 1, D]", "return attend(q, k, v);"),
     {BATCH, ("HQ",)}),
    (write("q: [B, heads H, T, D]", "return attend(q, q, q) where j <= i;", "[B, H, T, D]"),
     {BATCH, ("H",)}),
    (write(QKV + ", n: i32[B, T, 1, 2]", "return attend(q, k, v) in selection(n, 8);"),
     {BATCH, HEADS}),
    (write(QKV, f"{SELECT} share tokens 2; {USE}"), {BATCH, HEADS}),
    (write(QKV + ", r: [B, T, X, D]",
           "return (attend(q, k, v) where j <= i), (attend(r, k, k) where j <= i);",
           "(x: [B, T, HQ, D], y: [B, T, X, D])"), {BATCH, (*HEADS, "X")}),
    (write("x: f32[N], y: f32[M, N]", "return x * y;", "f32[M, N]"), {("N",), ("M",)}),
    (write(QKV + ", w: f32[H, 4]", "return attend(q, pool(k, 4, by=w), pool(v, 4)) "
                                   "where end(j) <= i;"), {BATCH, HEADS}),
]

# Programs that depend on the index of a part, or on the number of parts.
MIXED = [
    (write(QKV, "return attend(q, k, v) score s + h * (j - i);"), {BATCH}),
    (write(QKV, "return attend(q, k, v) where j <= i + h;"), {BATCH}),
    (write(QKV, "return attend(q, k, v) sink h;"), {BATCH}),
    (write(QKV, "return attend(q, k, v) score s + HQ;"), {BATCH}),
    (write(QKV + ", a: f32[16]", "return attend(q, k, v) score s + a[h];"), {BATCH}),
    (write(QKV + ", a: f32[HQ]", "return attend(q, k, v) score s + a[0];"), {BATCH}),
    (write(QKV + ", a: f32[HQ]", "return attend(q, k, v) score s + a[h] + h;"), {BATCH}),
    (write(QKV + ", a: f32[H]", "return attend(q, k, v) score s + a[h floordiv G];"), {BATCH}),
    (write("q: [B, T, 8, D], k: [B, S, 2, D], v: [B, S, 2, D]", "return attend(q, k, v);",
           "[B, T, 8, D]"), {BATCH}),
    (write("q: [B, T, HQ, D], k: [B, S, 2, D], v: [B, S, 2, D]", "return attend(q, k, v);"),
     {BATCH}),
    (write(QKV, f"{SELECT} share heads 2; {USE}"), {BATCH}),
    (write(QKV, f"{SELECT} where h == 0; {USE}"), {BATCH}),
    (write("q: [B, T, HQ, D], k: [B, S, 1, D], v: [B, S, 1, D]", f"{SELECT}; {USE}"), {BATCH}),
    (write(QKV, "return attend(q, k, v) score s + b;"), {HEADS}),
    (write(QKV, "return attend(q, k, v) score s + B;"), {HEADS}),
    (write(QKV + ", m: bool[B, S]", "return attend(q, k, v) where m[0, j];"), {HEADS}),
    (write(QKV + ", m: bool[B, S]", "return attend(q, k, v) where m[B - 1 - b, j];"), {HEADS}),
    (write("q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, D], a: f32[N]",
           "return attend(q, k, v) where j <= i score s + a[b];", "[ragged T, HQ, D]"), {HEADS}),
]


def compile(source, **options):
    return nsacc.compile(source, target="oracle", dtype="f32", **options)


def get_splits(program) -> set[tuple[str, ...]]:
    return set(program._program.splits)


def make(spec, sizes, rng):
    if spec.is_offsets:
        tokens = sizes[spec.dims[0].name]
        return np.array([0, tokens // 3, tokens], np.int32)
    shape = tuple(sizes[dim.name] if dim.name else dim.size for dim in spec.dims)
    if spec.dtype == "bool":
        return rng.random(shape) < 0.5
    if spec.dtype == "i32":
        return rng.integers(0, 2, shape, dtype=np.int32)
    return rng.standard_normal(shape, dtype=np.float32)


def cut(specs, tensors, split, part):
    """The part-th half of tensors with a dimension of the split."""
    def take(spec, tensor):
        for axis, dim in enumerate(spec.dims):
            if dim.kind == "named" and dim.name in split:
                half = tensor.shape[axis] // 2
                return tensor.take(range(part * half, (part + 1) * half), axis)
        return tensor
    return [take(spec, tensor) for spec, tensor in zip(specs, tensors)]


def check(program):
    rng = np.random.default_rng(1)
    tensors = [make(spec, SIZES, rng) for spec in program.signature.inputs]

    def run(inputs):
        results = program.run(inputs, f64_results=True)
        return list(results) if isinstance(results, tuple) else [results]

    results = run(tensors)
    assert get_splits(program)
    for split in get_splits(program):
        for part in (0, 1):
            found = run(cut(program.signature.inputs, tensors, split, part))
            for one, wanted in zip(found, cut(program.signature.results, results, split, part)):
                np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("source, splits", APART, ids=range(len(APART)))
def test_parts_give_parts(source, splits):
    program = compile(source)
    assert get_splits(program) == splits
    check(program)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.nsa")))
def test_parts_of_examples(name):
    program = compile(EXAMPLES / f"{name}.nsa", **SMALL.get(name, {}))
    assert any("H" in split for split in get_splits(program))
    check(program)


@pytest.mark.parametrize("source, splits", MIXED, ids=range(len(MIXED)))
def test_what_is_mixed_is_not_apart(source, splits):
    assert get_splits(compile(source)) == splits


def test_packages_do_not_tell(tmp_path):
    program = nsacc.compile(EXAMPLES / "flash.nsa")
    program.package(tmp_path / "flash.nsapkg", {"HQ": 4, "H": 2, "D": 16, "DV": 8})
    assert get_splits(nsacc.load(tmp_path / "flash.nsapkg")) == set()
