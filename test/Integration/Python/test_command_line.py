"""Arrays that NumPy and the nsacc command exchange."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nsacc
from harness import EXAMPLES

DOCUMENT = Path(__file__).parents[3] / "docs" / "CommandLine.md"
DIMS = "B=1,T=5,S=7,HQ=2,H=1,D=8,DV=4"


def run(*arguments: str) -> None:
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    subprocess.run([command, "run", EXAMPLES / "flash.nsa", *arguments], check=True,
                   stdout=subprocess.DEVNULL)


def documented_random_reals():
    block = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert block
    names: dict = {}
    exec(block.group(1), names)
    return names["random_reals"]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
@pytest.mark.parametrize("dtype, numpy_type", [
    ("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_random_inputs_are_as_documented(tmp_path, seed, dtype, numpy_type):
    run("--dims", DIMS, "--dtype", dtype, "--seed", str(seed), "--save-inputs", str(tmp_path))
    reals = documented_random_reals()
    for name, shape in {"q": (1, 5, 2, 8), "k": (1, 7, 1, 8), "v": (1, 7, 1, 4)}.items():
        written = np.load(tmp_path / f"{name}.npy")
        if dtype == "bf16":
            written = written.view(ml_dtypes.bfloat16)
        assert written.dtype == numpy_type
        expected = reals(name, shape, seed)
        if dtype == "bf16":
            # ml_dtypes rounds f64 by way of f32, which holds these numbers exactly.
            expected = expected.astype(np.float32)
        np.testing.assert_array_equal(written, expected.astype(numpy_type))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("numpy_type", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_arrays_of_numpy_load(tmp_path, version, order, numpy_type):
    q = np.random.default_rng(0).standard_normal((1, 5, 2, 8))
    q = np.asarray(q.astype(ml_dtypes.bfloat16).astype(numpy_type), order=order)
    with open(tmp_path / "q.npy", "wb") as file:
        np.lib.format.write_array(file, q, version=version)
    run("--input", f"q={tmp_path}/q.npy", "--dims", "S=7,H=1,DV=4",
        "--save-inputs", str(tmp_path / "again"))
    again = np.load(tmp_path / "again" / "q.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(again.astype(np.float64), q.astype(np.float64))


def test_command_and_package_give_the_same_bits(tmp_path):
    run("--dims", DIMS, "--save-inputs", str(tmp_path), "--output-dir", str(tmp_path))
    inputs = [np.load(tmp_path / f"{name}.npy").view(ml_dtypes.bfloat16) for name in "qkv"]
    out, lse = nsacc.compile(EXAMPLES / "flash.nsa")(*inputs)
    assert out.tobytes() == np.load(tmp_path / "out.npy").tobytes()
    assert lse.tobytes() == np.load(tmp_path / "lse.npy").tobytes()
