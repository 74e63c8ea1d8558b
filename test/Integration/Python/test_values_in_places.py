"""Every kind of value (docs/spec.md, 2.5) in every place that takes one.

It either runs, with the oracle's and the compiled program's results agreeing, or it is an error in
the program's words. It never ends the process.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

INPUTS = """
  q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, DV], g: f32[B, T, HQ], w: f32[4],
  idx: i32[B, T, H, 2], n: i32[B, T, H], x: f32[B, T, H, N], m: bool[B, S], z: f32, zi: i32
"""
DIMS = "B=1,T=3,S=9,HQ=4,H=2,D=4,DV=4,N=3"

BEFORE = """
  kc = pool(k, 4);
  soft = attend(q, k, v) where j <= i;
  silus = attend(q, k, v) weight silu(s);
  blocked = attend(q, kc);
  p = prob(blocked);
  sel = topk(p, 2);
"""

VALUES = {
    "input": "{like}",
    "computed": "{like} * 2",
    "sum": "{like} + {like}",
    "attention": "soft",
    "weighed": "silus",
    "scores": "blocked",
    "merged": "merge(soft, attend(q, k, v))",
    "gated": "g * soft",
    "lse": "lse(soft)",
    "prob": "p",
    "score": "score(blocked)",
    "gated-importance": "p * 2",
    "blocks": "blocks(prob(attend(q, pool(k, 4, 2))), 4)",
    "declared-blocks": "blocks(x, 4, map=identity)",
    "selection": "sel",
    "declared-selection": "selection(idx, 4)",
    "indices": "indices(sel)",
    "count": "n",
    "computed-count": "min(n, 2)",
    "computed-indices": "max(min(idx, 1), -1)",
    "weights": "w",
    "computed-weights": "w * 2",
    "condition": "m",
    "comparison": "idx < 2",
    "scalar": "z",
    "computed-scalar": "z * 2",
    "integer": "zi",
    "constant": "3",
    "real": "0.5",
    "dimension": "S",
    "pooled": "pool(k, 4)",
    "declared-pooled": "pooled(k, 4, 4, of=T)",
}

# The place, and the input that fits into it.
PLACES = {
    "query": ("attend({}, k, v)", "q"),
    "key": ("attend(q, {}, v)", "k"),
    "value": ("attend(q, k, {})", "v"),
    "pooled-key": ("attend(q, pool({}, 4), pool(v, 4))", "k"),
    "pool": ("pool({}, 4)", "k"),
    "by": ("pool(k, 4, by={})", "w"),
    "pooled": ("pooled({}, 2, 2, of=T)", "k"),
    "attend-pooled": ("attend(q, pooled({}, 2, 2, of=T), pooled(v, 2, 2, of=T))", "k"),
    "blocks": ("indices(topk(blocks({}, 8), 1))", "p"),
    "identity": ("indices(topk(blocks({}, 4, map=identity, of=S), 2))", "x"),
    "topk": ("indices(topk({}, 2))", "p"),
    "count": ("indices(topk(p, 2) count {})", "n"),
    "selection": ("attend(q, k, v) in selection({}, 4)", "idx"),
    "indices": ("indices({})", "sel"),
    "in": ("attend(q, k, v) in {}", "sel"),
    "lse": ("lse({})", "soft"),
    "merge": ("merge({}, attend(q, k, v))", "soft"),
    "prob": ("prob({})", "blocked"),
    "sink": ("attend(q, k, v) sink {}", "z"),
    "scale": ("attend(q, k, v) scale {}", "z"),
    "normalize": ("attend(q, k, v) weight silu(s) normalize {}", "z"),
    "where": ("attend(q, k, v) where {}", "m[b, j]"),
    "table": ("attend(q, k, v) score s + ({})[b, t, h]", "g"),
    "arithmetic": ("{} + 1", "q"),
    "result": ("{}", "q"),
}


def nsacc(tmp_path: Path, expression: str, result: str, command: str, *options: str):
    file = tmp_path / "program.nsa"
    file.write_text(f"kernel f({INPUTS}) -> {result} {{{BEFORE}  return {expression};\n}}\n")
    nsacc_path = shutil.which("nsacc")
    assert nsacc_path, "nsacc isn't on PATH: build it, and add build/dev/bin"
    done = subprocess.run([nsacc_path, command, file, *options], text=True, capture_output=True,
                          timeout=300)
    assert done.returncode in (0, 1), f"{expression}\nended with {done.returncode}\n{done.stderr}"
    assert done.returncode == 0 or ": error: " in done.stderr or done.stderr.startswith(
        "nsacc: "), f"{expression}\n{done.stderr}"
    assert "expected" in done.stderr or "LLVM" not in done.stderr, done.stderr
    return done


def find_result(tmp_path: Path, expression: str) -> str | None:
    """The type that the expression can be returned as; none if it's refused."""
    done = nsacc(tmp_path, expression, "f32[Nowhere]", "compile", "--emit", "nsa", "-o", "-")
    dims = re.search(r"declare the result as f32(\[.*?\])", done.stderr)
    if not dims:
        return None
    for element in ("f32", "bool"):
        result = f"{element}{dims[1]}"
        done = nsacc(tmp_path, expression, result, "compile", "--emit", "nsa", "-o", "-")
        if done.returncode == 0:
            return result
    raise AssertionError(f"{expression} has no type")


# Errors of runs with these values: doubled indices and counts leave their range, and an
# index of a table or the number of scores handed in its dimension.
FAULTS = {
    "count": {"computed", "sum"},
    "selection": {"computed", "sum"},
    "table": {"count"},
    "identity": {"attention", "weighed", "merged", "gated", "pooled", "declared-pooled"},
}


@pytest.mark.parametrize("place", PLACES)
def test_values(place: str, tmp_path: Path) -> None:
    pattern, like = PLACES[place]
    accepted = []
    for name, value in VALUES.items():
        expression = pattern.format(value.format(like=like))
        result = find_result(tmp_path, expression)
        if not result:
            continue
        accepted.append(name)
        done = nsacc(tmp_path, expression, result, "run", "--dims", DIMS, "--range", "idx=-1..2",
                     "--range", "n=0..2", "--range", "zi=1..3", "--check")
        fails = name in FAULTS.get(place, ())
        assert fails == (done.returncode != 0), f"{expression}\n{done.stderr}"
    assert "input" in accepted
