"""Selections of different widths in one kernel: tiles have room for the lists of each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sweep.cases import TARGETS, cover

WIDTHS = ((16, 512), (65, 500), (128, 512), (32, 2048), (100, 2000), (64, 256), (8, 128))
"""Numbers of blocks that a row selects, and of blocks that are handed in for it."""
GROUPS = (1, 4, 5)
RESULTS = {
    "merge": ("[B, T, HQ, D]", "merge({0}, {1})"),
    "sum": ("[B, T, HQ, D]", "({0}) + 0.5 * ({1})"),
    "two results": ("(x: [B, T, HQ, D], y: [B, T, HQ, D])", "{0}, {1}"),
    "beside their union": ("[B, T, HQ, D]", "merge({0}, attend(q, k, v) in union(sel, own) "
                           "where j <= i)"),
}
SELECTED, HANDED = "attend(q, k, v) in sel where j <= i", "attend(q, k, v) in own where j <= i"
SIZES = "HQ={},H=2,D=64"


def write(folder: Path, widths: tuple[int, int], result: str, is_swapped: bool) -> Path:
    type, value = RESULTS[result]
    attends = (HANDED, SELECTED) if is_swapped else (SELECTED, HANDED)
    path = folder / "program.nsa"
    path.write_text(
        f"kernel several<top = {widths[0]}>(q: [B, T, HQ, D], k, v: [B, S, H, D], "
        f"idx: i32[B, T, H, {widths[1]}]) -> {type} {{\n"
        "  sel = topk(prob(attend(q, pool(k, 16)) where end(j) <= i), top);\n"
        f"  own = selection(idx, 16);\n  return {value.format(*attends)};\n}}\n")
    return path


def nsacc(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(["nsacc", *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("widths, group, result, is_swapped, target",
                         cover((WIDTHS, GROUPS, RESULTS, (False, True), TARGETS)), ids=str)
def test_compiles(widths, group, result, is_swapped, target, tmp_path):
    path = write(tmp_path, widths, result, is_swapped)
    found = nsacc("compile", path, "--target", target, "--emit", "tile", "-o", "/dev/null",
                  "--dims", SIZES.format(2 * group))
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_tiles_fit_the_widest(target, is_swapped, tmp_path):
    """Tiles given for one selection hold for all; other tiles fill a product."""
    path = write(tmp_path, (16, 512), "merge", is_swapped)
    arguments = ("compile", path, "--target", target, "--dims", SIZES.format(8), "-o", "-")
    for given, tokens in ((), "16"), (("--schedule", "tokens=32"), "32"):
        found = nsacc(*arguments, "--emit", "schedule", *given)
        assert found.returncode == 0, found.stderr
        attends = re.findall(r"\(attend at .*order=union, tokens=(\d+)", found.stdout)
        assert attends == [tokens, tokens]
        found = nsacc(*arguments, "--emit", "tile", *given)
        assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("result", RESULTS)
def test_agrees_with_the_oracle(result, tmp_path):
    path = write(tmp_path, (4, 40), result, False)
    found = nsacc("run", path, "--check", "--schedule", "order=union", "--range", "idx=-1..18",
                  "--dims", "B=1,T=70,S=300,HQ=4,H=2,D=16")
    assert found.returncode == 0, found.stdout + found.stderr
