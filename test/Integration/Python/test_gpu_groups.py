"""The compiler's choice compiles for any group of query heads: no flag is needed."""

from __future__ import annotations

import subprocess

import pytest

from harness import EXAMPLES
from sweep.cases import TARGETS, cover

GROUPS = (1, 2, 3, 5, 7, 8, 9, 12, 16, 24, 64)
TOPS = (4, 16, 17, 32, 33, 64, 100)
BLOCKS = (64, 128, 256, 512)
# Lengths and strides of windows.
WINDOWS = ((32, 16), (64, 64), (64, 16), (16, 16))
CHANNELS = (16, 40, 64, 128, 192)


@pytest.mark.parametrize("group, top, block, windows, channels, target",
                         cover((GROUPS, TOPS, BLOCKS, WINDOWS, CHANNELS, TARGETS)), ids=str)
def test_compiles(group, top, block, windows, channels, target):
    dims = {"HQ": 2 * group, "H": 2, "D": channels, "DV": channels}
    params = {"block": block, "top": top, "len": windows[0], "stride": windows[1]}
    found = subprocess.run(
        ["nsacc", "compile", EXAMPLES / "nsa.nsa", "--target", target, "--emit", "nvvm",
         "--dims", ",".join(f"{name}={size}" for name, size in dims.items()),
         "--set", ",".join(f"{name}={value}" for name, value in params.items()),
         "-o", "/dev/null"], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("score", ["1.0", "float(j)", "float(b)", "select(j < 4, 1.0, -inf)",
                                   "1.0 sink 0.5"])
def test_scores_without_products_beside_others(score, target, tmp_path):
    source = tmp_path / "constant.nsa"
    source.write_text(f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])
        -> (a: f32[B, T, HQ, DV], b: f32[B, T, HQ, DV])
    {{ a = attend(q, k, v) score {score}; return a, attend(q, k, v) where j <= i; }}""")
    found = subprocess.run(["nsacc", "compile", source, "--target", target, "--emit", "nvvm",
                            "--dims", "HQ=16,H=4,D=64,DV=64", "-o", "/dev/null"],
                           capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
