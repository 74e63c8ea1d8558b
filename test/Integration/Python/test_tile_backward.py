"""The backward step's tile program, written by hand, against a NumPy formula; on the CPU."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "Pipelines" / "five-products.mlir"
PLAN = """
  nsatile.plan @plan(%q: !B {nsa.name = "q"}, %k: !B {nsa.name = "k"},
      %v: !B {nsa.name = "v"}, %g: !B {nsa.name = "g"},
      %lse: memref<?xf32> {nsa.name = "lse"}, %delta: memref<?xf32> {nsa.name = "delta"},
      %dq: memref<?x64xf32> {nsa.name = "dq"}, %turns: memref<?xi32> {nsa.name = "turns"},
      %dk: memref<?x64xbf16> {nsa.name = "dk"}, %dv: memref<?x64xbf16> {nsa.name = "dv"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %scale = arith.constant 0.18 : f32
    %n = memref.dim %q, %c0 : !B
    %tiles = arith.ceildivsi %n, %c64 : index
    nsatile.launch @backward grid(%tiles, %c1, %c1)
        (%q, %k, %v, %g, %lse, %delta, %dq, %turns, %dk, %dv, %n, %steps, %tiles, %scale)
        : !B, !B, !B, !B, memref<?xf32>, memref<?xf32>, memref<?x64xf32>, memref<?xi32>,
          memref<?x64xbf16>, memref<?x64xbf16>, index, index, index, f32
    nsatile.return
  }
"""
RESULTS = ("dq", "dk", "dv", "turns")


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Rounds to the nearest number of 8 bits; ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_f32(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32)


def defer(module: Path) -> None:
    """Puts the sum of the queries' gradient a step late."""
    asked = "of %turns[%tile] : memref<?xi32>"
    text = module.read_text()
    assert text.count(asked) == 1
    module.write_text(text.replace(asked, asked + " {nsatile.stage = 1}"))
    pipeline = "builtin.module(nsatile.program(nsatile-defer-products))"
    command = ["nsacc-opt", module, f"--pass-pipeline={pipeline}", "-o", module]
    subprocess.run(command, check=True, capture_output=True)
    assert module.read_text().count("nsatile.accumulate") == 2


def run(folder: Path, inputs: dict[str, np.ndarray], threads: int, late: bool = False,
        steps: str = "%tiles") -> dict[str, np.ndarray]:
    """The program's results for `inputs` of bf16, as words, and f32.

    `late` puts the queries' gradient a step late; `steps` is the number of query tiles to visit.
    """
    # The first program of the file, without its checks, as a module with a plan.
    text = "\n".join(line for line in SOURCE.read_text().splitlines()
                     if not line.lstrip().startswith("//"))
    program = text[:text.index("nsatile.program @two_warpgroups")]
    module = folder / "plan.mlir"
    module.write_text(program + PLAN.replace("%steps", steps) + "}\n")
    if late:
        defer(module)
    length = len(inputs["lse"])
    rows, vector, tiles = f"{length}x64", str(length), str(-(-length // 64))
    for name, values in inputs.items():
        np.save(folder / f"{name}.npy", values.view("V2") if values.dtype == np.uint16 else values)
    command = ["nsacc-tile-run", module, *[rows] * 4, vector, vector, rows, tiles,
               rows, rows, "--threads", str(threads)]
    for name in inputs:
        command += ["--input", f"{name}={folder / name}.npy"]
    for name in RESULTS:
        command += ["--output", f"{name}={folder / name}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    return {name: np.load(folder / f"{name}.npy") for name in RESULTS}


def draw(length: int) -> dict[str, np.ndarray]:
    """Queries, keys, values and the gradient of the results, as words."""
    rng = np.random.default_rng(length)
    return {name: to_bf16(rng.standard_normal((length, 64))) for name in "qkvg"}


@pytest.mark.parametrize("length", [64, 100, 320])
def test_gradients(tmp_path: Path, length: int) -> None:
    words = draw(length)
    q, k, v, g = (to_f32(each).astype(np.float64) for each in words.values())
    scores = 0.18 * k @ q.T
    lse = np.log2(np.exp2(scores).sum(0))
    p = np.exp2(scores - lse)
    delta = ((p.T @ v) * g).sum(1)
    inputs = words | {"lse": lse.astype(np.float32), "delta": delta.astype(np.float32)}
    results = run(tmp_path, inputs, threads=1)

    ds = p * (v @ g.T - delta)
    for name, expected in (("dq", ds.T @ k), ("dk", ds @ q), ("dv", p @ g)):
        found = results[name]
        found = found if found.dtype == np.float32 else to_f32(found.view(np.uint16))
        error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        assert error < 5e-3, (name, error)
    # Each tile of keys took its turn at each tile of queries.
    tiles = -(-length // 64)
    assert (results["turns"] == tiles).all()
    # The order of turns is the order of sums, whichever thread is there first.
    for _ in range(3):
        assert (run(tmp_path, inputs, threads=4)["dq"] == results["dq"]).all()


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7])
def test_late_products(tmp_path: Path, steps: int) -> None:
    """A sum a step late has the same terms in the same order, with and without steps."""
    length = 64 * max(steps, 1) - 20
    vector = np.linspace(8, 10, length, dtype=np.float32)
    inputs = draw(length) | {"lse": vector, "delta": vector - 9}
    count = "%tiles" if steps else "%c0"
    expected = run(tmp_path, inputs, threads=2, steps=count)
    found = run(tmp_path, inputs, threads=2, late=True, steps=count)
    assert (expected["turns"] == steps).all()
    for name in RESULTS:
        assert found[name].tobytes() == expected[name].tobytes(), name
