"""Small works for the tests of benchmarks/run --suite sparse, on the CPU."""

from __future__ import annotations

import dataclasses

import torch

from bench.gpu.works import Tensors
from bench.sparse import works
from bench.sparse.base import Goals
from dense_benchmarks import ROOT

WORKS = {work.id: work for work in works.load(ROOT / "benchmarks" / "sparse.json")}
PARAMS = {
    "block_sparse": {"block": 16, "top": 5}, "tiles": {"block": 16, "top": 3},
    "nsa-l64": {"block": 16, "top": 5, "len": 16, "stride": 16, "window": 30},
    "nsa-l32": {"block": 16, "top": 5, "len": 8, "stride": 4, "window": 30},
    "compressed-l64": {"len": 16, "stride": 16}, "compressed-l32": {"len": 8, "stride": 4},
    "moba": {"block": 16, "top": 3}, "hstu_bsa": {"block": 8, "top": 3}}
# One work of each kind, with each kind of inputs.
SMALL = ("selected-g4-32k-related", "selected-g1-32k-unrelated", "compressed-l32-64k",
         "compressed-l64-64k", "nsa-l64-8k-related", "nsa-l32-8k-unrelated",
         "nsa-l32-decode-b8-32k", "moba-32k-h4",
         "tiles-64", "decode-b1-128k", "ragged-mixed", "hstu-bsa", "hstu-dense")


def shrink(work: Goals, **changes: object) -> Goals:
    """The work's program for a CPU, in f32, with sizes that take milliseconds."""
    names = {field.name for field in dataclasses.fields(work)}
    if "N" in names:
        return dataclasses.replace(work, **{"T": min(work.T, 5), "N": 700, "params": {"top": 300},
                                            "target": "cpu"} | changes)
    heads = min(work.H, 2)
    params = next((params for name, params in PARAMS.items()
                   if work.id.startswith(name) or work.pattern == name), {})
    small: dict[str, object] = {"H": heads, "HQ": heads * min(work.HQ // work.H, 4), "D": 16,
                                "DV": 16, "params": params, "dtype": "f32", "target": "cpu"}
    if "T" in names and work.T > 1:
        small |= {"T": 160, "B": 1}
    if getattr(work, "past", 0):
        small["past"] = 150
    if "rows" in names:
        small["rows"] = [[min(3, row[0]), *(max(1, length // 40) for length in row[1:])]
                         for row in work.rows]
    return dataclasses.replace(work, **small | changes)


def draw(work: Goals, seed: int = 1) -> Tensors:
    return work.draw_inputs(seed, torch.device("cpu"))
