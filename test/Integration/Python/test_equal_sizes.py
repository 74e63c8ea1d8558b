"""Equal numbers in a type are separate dimensions, as names are (docs/spec.md, 1.4, 3.9)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nsacc
from harness import normal, with_defaults
from nsacc.errors import CompileError

RNG = np.random.default_rng(14)
GPU_TARGETS = ("sm_90a", "sm_80")

# A program, the dimensions that its types spell as numbers, and sizes of all others.
ATTEND = "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
PROGRAMS = {
    "attend": f"{ATTEND}) -> f32[B, T, HQ, DV] {{ return attend(q, k, v) where j <= i; }}",
    "computed keys": f"{ATTEND}) -> f32[B, T, HQ, DV] {{ return attend(q, k + 1, v * 2); }}",
    "lse": f"{ATTEND}) -> (f32[B, T, HQ, DV], f32[B, T, HQ]) "
           "{ a = attend(q, k, v) where j <= i; return a, lse(a) * 2; }",
    "gates": f"{ATTEND}, x: f32[B, T, HQ, DV], y: f32[B, T, HQ, DV]) -> f32[B, T, HQ, DV] "
             "{ z = x * y; return z * attend(q, k, v) + x; }",
    "merge": f"{ATTEND}) -> f32[B, T, HQ, DV] "
             "{ return merge(attend(q, k, v) where j < 2, attend(q, k, v) where j >= 2); }",
    "topk": f"{ATTEND}) -> (f32[B, T, HQ, DV], i32[B, T, H, 2]) "
            "{ sel = topk(prob(attend(q, pool(k, 1))), 2); "
            "return attend(q, k, v) in sel, indices(sel); }",
    "importance": f"{ATTEND}) -> (f32[B, T, H, N], f32[B, T, HQ, N]) "
                  "{ a = attend(q, pool(k, 2)); return prob(a), score(a, heads=none) * 2; }",
    "map": f"{ATTEND}) -> (f32[B, T, HQ, D], f32[B, S, H, DV]) {{ return q * 2 + q, k + v; }}",
}
SIZES = {"B": 2, "T": 3, "S": 5, "HQ": 4, "H": 2, "D": 4, "DV": 4}
# Each is a crash or a wrong number where dimensions are told apart by their size.
EQUAL = {
    "heads and width": {"HQ": 4, "D": 4, "DV": 4},
    "all ones": {"B": 1, "HQ": 1, "H": 1, "D": 1, "DV": 1},
    "batch and heads": {"B": 2, "HQ": 2, "H": 2},
    "batch and tokens": {"B": 2, "T": 2},
    "tokens and width": {"T": 3, "D": 3, "DV": 3},
    "batch and width": {"B": 4, "D": 4, "DV": 4},
    "all": {"B": 2, "T": 2, "HQ": 2, "H": 2, "D": 2, "DV": 2},
}


def spell(source: str, numbers: dict[str, int]) -> str:
    """The program with numbers in the place of these names."""
    head, body = source.split("{", 1)
    for name, size in numbers.items():
        for before, after in ((" ", ","), ("[", ","), (" ", "]")):
            head = head.replace(f"{before}{name}{after}", f"{before}{size}{after}")
    return head + "{" + body


def inputs(source: str, sizes: dict[str, int]) -> list[np.ndarray]:
    shape = {"q": ("B", "T", "HQ", "D"), "k": ("B", "S", "H", "D"), "v": ("B", "S", "H", "DV")}
    names = [*"qkv", *(n for n in "xy" if f" {n}: " in source)]
    dims = [shape.get(n, ("B", "T", "HQ", "DV")) for n in names]
    return [normal(RNG, *(sizes[d] for d in each)) for each in dims]


def compile_for_gpu(folder: Path, source: str, target: str, *options: str) -> None:
    path = folder / "program.nsa"
    path.write_text(source)
    subprocess.run([shutil.which("nsacc"), "compile", path, "--target", target, "--emit", "ptx",
                    "-o", folder / "program.ptx", *options], check=True)


@pytest.mark.parametrize("equal", EQUAL)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_mean_what_names_do(name: str, equal: str) -> None:
    source, numbers = PROGRAMS[name], EQUAL[equal]
    sizes = SIZES | numbers
    if name == "map" and sizes["D"] != sizes["DV"]:
        sizes["DV"] = sizes["D"]
    if name == "map":
        source = source.replace("DV", "D")
    spelled = spell(source, numbers)
    assert spelled != source
    given = inputs(source, sizes)
    expected = nsacc.compile(source, **with_defaults({}))(*given)
    for target in ("oracle", "cpu"):
        found = nsacc.compile(spelled, **with_defaults({"target": target}))(*given)
        for f, e in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)),
                        strict=True):
            np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("target", GPU_TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_compile_for_gpus(name: str, target: str, tmp_path: Path) -> None:
    source = PROGRAMS[name].replace("DV", "D") if name == "map" else PROGRAMS[name]
    numbers = {"B": 4, "T": 4, "HQ": 4, "H": 4, "D": 4, "DV": 4}
    compile_for_gpu(tmp_path, spell(source, numbers), target)


def test_a_tensor_may_stand_in_two_places_of_a_result() -> None:
    """u is [4] of [4, T, 4] in front by way of n, and behind by way of m."""
    source = ("kernel f(a: f32[4, T, 4], x: f32[4], y: f32[T, 4], z: f32[4, T]) -> f32[4, T, 4] "
              "{ u = x + 1; m = u * y; n = u - z; w = a + m; return w * n; }")
    a, x, y, z = normal(RNG, 4, 3, 4), normal(RNG, 4), normal(RNG, 3, 4), normal(RNG, 4, 3)
    expected = (a + (x + 1) * y) * ((x + 1)[:, None] - z)[:, :, None]
    for target in ("oracle", "cpu"):
        found = nsacc.compile(source, **with_defaults({"target": target}))(a, x, y, z)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=1e-6)


def test_one_input_may_scale_importances_of_two_sorts_of_heads() -> None:
    source = ("kernel f(q: [B, T, 4, D], k: [B, S, 2, D], g: f32[B, T]) -> "
              "(f32[B, T, 4, N], f32[B, T, 2, N]) { a = attend(q, pool(k, 2)); "
              "return prob(a, heads=none) * g, prob(a) * g; }")
    q, k, g = normal(RNG, 2, 3, 4, 8), normal(RNG, 2, 8, 2, 8), normal(RNG, 2, 3)
    expected, found = (nsacc.compile(source, **with_defaults({"target": target}))(q, k, g)
                       for target in ("oracle", "cpu"))
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=1e-5, atol=1e-6)


BROADCAST = {
    "behind": ("x: f32[B, T, HQ, D, E]", "[B, T, HQ, D, E]", "a * x"),
    "in front": ("x: f32[E, B, T, HQ, D]", "[E, B, T, HQ, D]", "a * x"),
    "between": ("x: f32[B, T, HQ, E, D]", "[B, T, HQ, E, D]", "a * x"),
    "lse between": ("x: f32[B, T, E, HQ]", "[B, T, E, HQ]", "lse(a) * x"),
    "lse in front": ("x: f32[E, B, T, HQ]", "[E, B, T, HQ]", "lse(a) * x + lse(a)"),
    "merged": ("x: f32[B, T, HQ, D, E]", "[B, T, HQ, D, E]",
               "merge(a, attend(q, k, v) where j >= 2) * x"),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_attention_in_a_larger_tensor(name: str, tmp_path: Path) -> None:
    """Rows and channels needn't be the result's."""
    declared, dims, value = BROADCAST[name]
    source = (f"kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, D], {declared}) -> "
              f"f32{dims} {{ a = attend(q, k, v) where j < 2; return {value}; }}")
    sizes = {**SIZES, "E": 3}
    shape = [sizes[d] for d in dims.strip("[]").split(", ")]
    given = [normal(RNG, 2, 3, 4, 4), normal(RNG, 2, 5, 2, 4), normal(RNG, 2, 5, 2, 4),
             normal(RNG, *shape)]
    expected, found = (nsacc.compile(source, **with_defaults({"target": target}))(*given)
                       for target in ("oracle", "cpu"))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)
    for target in GPU_TARGETS:
        compile_for_gpu(tmp_path, source, target, "--dims=HQ=4,H=2,D=16,E=16")


@pytest.mark.parametrize("source", [
    "kernel f(x: f32[2, 2], y: f32[2]) -> f32[2, 2] { return x * y; }",
    "kernel f(x: i32[B, T, 2, 2], g: i32[2]) -> i32[B, T, 2, 2] { return x + g; }",
    "kernel f(q: [B, T, 4, 4], k: [B, S, 4, 4], v: [B, S, 4, 4], g: f32[B, T, 4]) -> "
    "f32[B, T, 4, 4] { return g * attend(q, k, v); }",
    "kernel f(q: [B, T, 4, 4], k: [B, S, 4, 4], v: [B, S, 4, 4]) -> f32[B, T, 4, 4] "
    "{ a = attend(q, k, v); return a - lse(a); }",
    "kernel f<HQ = 4, D = 4>(q: [B, T, HQ, D], k: [B, S, HQ, D], v: [B, S, HQ, D], "
    "g: f32[B, T, HQ]) -> f32[B, T, HQ, D] { return g * attend(q, k, v); }",
    "kernel f(q: [B, T, 2, D], k: [B, S, 2, D], g: i32[B, T, 2]) -> i32[B, T, 2, 2] "
    "{ return indices(topk(prob(attend(q, pool(k, 1))), 2)) * 10 + g; }",
    "kernel f(x: f32[4], y: f32[4, T], z: f32[4, T, 4]) -> f32[4, T, 4] { return x * y * z; }",
])
def test_an_open_choice_is_an_error(source: str) -> None:
    for target in ("oracle", "cpu", "sm_90a"):
        with pytest.raises(CompileError, match="in more than one way"):
            nsacc.compile(source, target=target)
