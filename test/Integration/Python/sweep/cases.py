"""The compiled cases: examples, masks, functions in each place, widths, types and selections."""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT / "test" / "Integration" / "programs"))
import masks  # noqa: E402

TARGETS = ("sm_90a", "sm_80")
TOPS = (1, 16, 256, 1024, 2048)
WIDE_TOPS = (2049, 4096)
"""Refused of blocks that a row chooses; lists that are handed in have any width."""
BLOCKS = (16, 32, 64, 128, 512)
WIDTHS = (8, 32, 64, 96, 128, 192, 256, 576)
DTYPES = ("bf16", "f16", "f32")

FUNCTIONS = ("exp(s)", "exp2(s)", "log(s)", "log2(s)", "sqrt(s)", "tanh(s)", "sin(s)", "cos(s)",
             "erf(s)", "abs(s)", "sigmoid(s)", "silu(s)", "relu(s)", "gelu(s)", "softcap(s, 5.0)",
             "pow(s, 2.5)", "pow(2.0, s)", "pow(s, 3)", "pow(s, x[b, t])", "min(s, 1.0)",
             "max(s, x[b, t], 0.5)", "floor(s)", "select(s < 0.0, 1.0, s)", "float(int(s))",
             "float(abs(n[b, t]))", "float(min(n[b, t], i))", "float(n[b, t] floordiv 7)",
             "float(i ceildiv 7)", "float(i mod 7)")
PAIR_PLACES = {
    "where": "attend(q, k, v) where {f} < 0.5",
    "score": "attend(q, k, v) score {f} where j <= i",
    "weight": "attend(q, k, v) weight {f} where j <= i",
}
ROW_PLACES = {
    "normalize": "attend(q, k, v) weight abs(s) normalize {f}",
    "sink": "attend(q, k, v) sink {f}",
    "map": "x * {f}",
}
"""A table's element stands for the score where there is none."""
PLACES = PAIR_PLACES | ROW_PLACES

_LIST = ("kernel {name}<top, block>(q: [B, T, HQ, D], k, v: [B, S, H, D]{more}) "
         "-> [B, T, HQ, D] {{ {body} }}")
SELECTIONS = {
    "pooled": _LIST.format(
        name="pooled", more="", body="sel = topk(prob(attend(q, pool(k, block)) where end(j) <= i)"
        ", top); return attend(q, k, v) in sel where j <= i;"),
    "handed": _LIST.format(
        name="handed", more=", idx: i32[B, T, H, top]",
        body="return attend(q, k, v) in selection(idx, block) where j <= i;"),
}
DENSE = ("kernel dense(q: [B, T, HQ, D], k, v: [B, S, H, D]) -> [B, T, HQ, D] "
         "{ return attend(q, k, v) where j <= i; }")


@dataclass(frozen=True)
class Case:
    group: str
    row: str
    column: str
    """The place of its outcome in docs/Sweep.md."""
    text: str
    target: str
    kernel: str = ""
    """The kernel, if the text has several."""
    width: int = 64
    dtype: str = "bf16"
    top: int = 0
    block: int = 0

    def __str__(self) -> str:
        return f"{self.group}: {self.row}, {self.column}, {self.target}"


def example(path: Path, target: str) -> Case:
    return Case("Examples", path.stem, target, path.read_text(), target)


def mask(name: str, target: str) -> Case:
    return Case("Masks", name, target, masks.FILE.read_text(), target, kernel=name)


def function(function: str, place: str, target: str) -> Case:
    value = function
    if place in ROW_PLACES:
        value = re.sub(r"\bs\b", "x[b, t]", value)
    if place == "where":
        value = re.sub(r"\bs\b", "float(i - j)", value)
    result = "[B, T, HQ, D]"
    if place == "map":
        value = re.sub(r"\bi\b", "n", value).replace("[b, t]", "")
        result = "f32[B, T]"
    text = ("kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D], x: f32[B, T], n: i64[B, T]) "
            f"-> {result} {{ return {PLACES[place].format(f=value)}; }}")
    return Case("Functions", function, place, text, target, width=32)


def functions(place: str, target: str) -> Case:
    """All functions in one program: with one value a row each, they take less time than its
    attention."""
    return replace(function(" + ".join(FUNCTIONS), place, target), row="all functions")


def dense(width: int, dtype: str, target: str) -> Case:
    return Case("Widths", f"D {width}", f"{dtype}, {target}", DENSE, target, width=width,
                dtype=dtype)


def selection(name: str, top: int, block: int, dtype: str, target: str) -> Case:
    return Case("Selections", f"{name}, top {top}, {dtype}", f"block {block}", SELECTIONS[name],
                target, dtype=dtype, top=top, block=block)


def _examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.nsa"))


AXES = {
    example: (_examples(), TARGETS),
    mask: (masks.NAMES, TARGETS),
    function: (FUNCTIONS, PLACES, TARGETS),
    dense: (WIDTHS, DTYPES, TARGETS),
    selection: (SELECTIONS, TOPS + WIDE_TOPS, BLOCKS, DTYPES, TARGETS),
}


def full() -> list[Case]:
    return [make(*values) for make, axes in AXES.items() for values in itertools.product(*axes)]


PAIRWISE = (
    *((make, AXES[make]) for make in (example, mask, dense)),
    (function, (FUNCTIONS, PAIR_PLACES, TARGETS)),
    (functions, (ROW_PLACES, TARGETS)),
    # Separates programs that compile from refused ones, so that no pair is only met in a refusal.
    # The longest list that is handed in takes ptxas some seconds.
    (selection, (SELECTIONS, TOPS, BLOCKS, DTYPES, TARGETS),
     ("handed", max(TOPS), 16, "bf16", "sm_90a")),
    (selection, (SELECTIONS, WIDE_TOPS, BLOCKS, DTYPES, TARGETS)),
)


def list_pairs(row: Sequence) -> set[tuple]:
    """The values of any two axes, each with its axis."""
    return set(itertools.combinations(enumerate(row), 2))


def cover(axes: Sequence[Iterable], first: Sequence = ()) -> list[tuple]:
    """Choices of a value of each axis: each pair of two axes' values is in one of them.

    The choice `first` takes long, so no other choice has its values of the first two axes."""
    choices = {row: list_pairs(row) for row in itertools.product(*axes)
               if not first or row[:2] != first[:2]}
    rows = [first] if first else []
    met = Counter(list_pairs(first))
    missing = set().union(*choices.values()) - met.keys()
    while missing:
        # Takes a choice with the most new pairs, and among these one with other pairs that are
        # rare.
        rows.append(max(choices, key=lambda row: (len(choices[row] & missing),
                                                  -sum(met[pair] for pair in choices[row]))))
        met.update(choices[rows[-1]])
        missing -= met.keys()
    return rows


def pairwise() -> list[Case]:
    """For any two properties of a program, each value of one with each of the other."""
    return [make(*values) for make, *axes in PAIRWISE for values in cover(*axes)]
