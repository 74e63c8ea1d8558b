"""Programs compiled for the GPU, and inputs for them."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

import nsacc
from nsacc.errors import ArgumentError, CompileError, NsaccError
from waiting import wait

EXAMPLES = Path(os.environ.get("EXAMPLES_FOLDER") or Path(__file__).parents[3] / "examples")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.nsa"))
TARGET = os.environ.get("GPU_TARGET", "cuda")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
          "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}

_DENSE = "(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])"
_RAGGED = "(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV])"
# Scores with code too long for the usual number of keys at a time.
_LONG = " + ".join(f"tanh(s * {n}.5) * pow(abs(s) + 1.0, 0.{n}) * erf(s + {n})"
                   for n in range(1, 7))
SOURCES = {
    "full": f"kernel full{_DENSE} -> [B, T, HQ, DV] {{ return attend(q, k, v); }}",
    "band": f"kernel band<window = 33>{_DENSE} -> [B, T, HQ, DV] "
            "{ return attend(q, k, v) where 0 <= i - j < window; }",
    "long_score": f"kernel long_score{_DENSE} -> [B, T, HQ, DV] "
                  f"{{ return attend(q, k, v) where j <= i score {_LONG}; }}",
    "long_mask": f"kernel long_mask{_DENSE} -> [B, T, HQ, DV] {{ return attend(q, k, v) "
                 "where cos(float(i * j)) + sin(float(i - 3 * j)) * cos(float(2 * i - j)) "
                 "+ sin(float(i * 5 + j)) * tanh(float(i - j) / 16.0) < 0.3; }",
    "with_lse": f"kernel with_lse{_DENSE} -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) "
                "{ a = attend(q, k, v) where j <= i; return a, lse(a); }",
    "groups": "kernel groups<block = 16, top = 5, group = 8>(q: [B, T, HQ, D], k: [B, S, H, D], "
              "v: [B, S, H, DV], idx: i32[B, M, H, top]) -> [B, T, HQ, DV] "
              "{ return attend(q, k, v) in selection(idx, block, tokens=group) where j <= i; }",
    "groups_of_all_heads": "kernel groups_of_all_heads<block = 16, top = 5, group = 8>("
                           "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
                           "idx: i32[B, M, 1, top]) -> [B, T, HQ, DV] { return attend(q, k, v) "
                           "in selection(idx, block, tokens=group) where j <= i; }",
    "ragged_flash": f"kernel ragged_flash{_RAGGED} -> (out: [ragged T, HQ, DV], "
                    "lse: f32[ragged T, HQ]) "
                    "{ a = attend(q, k, v) where j <= i; return a, lse(a); }",
    "ragged_full": f"kernel ragged_full{_RAGGED} -> [ragged T, HQ, DV] "
                   "{ return attend(q, k, v); }",
    "ragged_band": f"kernel ragged_band<window = 33>{_RAGGED} -> [ragged T, HQ, DV] "
                   "{ return attend(q, k, v) where 0 <= i - j < window; }",
    "ragged_moba": f"kernel ragged_moba<block = 16, top = 3>{_RAGGED} -> [ragged T, HQ, DV] {{ "
                   "gist = attend(q, pool(k, block)) where end(j) <= i; "
                   "sel = topk(score(gist, heads=none), top) keep last 1; "
                   "return attend(q, k, v) in sel where j <= i; }",
}

# Blocks so small that a few hundred tokens have many, and windows that tokens exceed.
SMALL = {
    "block_sparse": (("block", 16), ("top", 5)),
    "hstu_bsa": (("block", 16), ("top", 3)),
    "moba": (("block", 16), ("top", 3)),
    "nsa": (("block", 16), ("top", 6), ("len", 8), ("stride", 4), ("window", 9)),
    "nsa_pooled_weights": (("block", 16), ("top", 7), ("len", 8), ("stride", 8), ("window", 40)),
    "window_sink": (("window", 33), ("anchors", 3)),
}

_compiling = threading.Lock()


@dataclass(frozen=True)
class Case:
    """A program, with its target and schedule."""

    name: str
    dtype: str = "bf16"
    schedule: str = ""
    heads: tuple[int, int] = (4, 2)
    """Heads of queries, and of keys; programs without groups have the latter."""
    channels: tuple[int, int] = (64, 64)
    """Channels of queries and keys, and of values."""
    params: tuple[tuple[str, int], ...] = ()
    target: str = TARGET

    @staticmethod
    def small(name: str, **settings) -> Case:
        return Case(name, params=SMALL.get(name, ()), **settings)

    @property
    def is_ragged(self) -> bool:
        return self.name == "hstu_bsa" or self.name.startswith("ragged")

    @property
    def selects(self) -> bool:
        """Whether it picks blocks by scores, so that a rounding may decide between two."""
        return any(word in self.name for word in ("nsa", "moba", "hstu"))

    def __str__(self) -> str:
        hq, h = self.heads
        d, dv = self.channels
        params = [f"{name}={value}" for name, value in self.params]
        return "-".join([self.name, self.dtype, f"{hq}x{h}", f"D{d}x{dv}", *params,
                         *filter(None, [self.schedule]),
                         *([self.target] if self.target != TARGET else [])])

    def program(self) -> nsacc.Program:
        return _compile(replace(self, heads=(0, 0),
                                channels=self.channels if self.name == "mla" else (0, 0)))

    def compile(self) -> None:
        """Makes the code that runs of other lengths take. They get the error, too, if there is
        one."""
        inputs = self.inputs(tokens=1, batch=1)
        with torch.cuda.stream(torch.cuda.Stream()):
            try:
                self.program()(*to_device(inputs))
            except NsaccError:
                return
            wait(self)

    def oracle(self) -> nsacc.Program:
        return replace(self, target="oracle", schedule="").program()

    def inputs(self, tokens: int = 0, keys: int | None = None, batch: int = 2, seed: int = 0,
               rows: Sequence[tuple[int, int]] | None = None) -> list[torch.Tensor]:
        """Random inputs on the host; `rows` are numbers of queries and keys of ragged rows."""
        sizes = {"B": batch, "T": tokens, "S": tokens if keys is None else keys,
                 "HQ": self.heads[0], "H": self.heads[1],
                 "D": self.channels[0], "DV": self.channels[1]}
        params = self.program().params
        sizes |= {"P": -(-sizes["S"] // int(params.get("page", 1))), "U": sizes["T"],
                  "M": -(-sizes["T"] // int(params.get("group", 1)))}
        if rows is None:
            # Lengths of a third, none and the rest.
            rows = [(t, s) for t, s in zip(_split(sizes["T"]), _split(sizes["S"]))]
        elif self.is_ragged:
            sizes |= {"T": sum(row[0] for row in rows), "S": sum(row[1] for row in rows)}
        return _make_inputs(self.program(), sizes, {
            "T": [row[0] for row in rows], "S": [row[1] for row in rows]}, seed)


def _split(tokens: int) -> list[int]:
    return [tokens // 3, 0, tokens - tokens // 3]


def _compile(case: Case) -> nsacc.Program:
    with _compiling:
        return _parse(case)


@functools.cache
def _parse(case: Case) -> nsacc.Program:
    params = dict(case.params)
    if case.name == "mla":
        params |= {"D": case.channels[0], "DV": case.channels[1]}
    source = SOURCES.get(case.name) or EXAMPLES / f"{case.name}.nsa"
    return nsacc.compile(source, target=case.target, dtype=case.dtype, schedule=case.schedule,
                         params=params)


def _make_inputs(program: nsacc.Program, sizes: dict[str, int], rows: dict[str, list[int]],
                 seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = []
    for spec in program.signature.inputs:
        dtype = DTYPES[spec.dtype]
        if spec.is_offsets:
            ends = torch.tensor([0, *rows[spec.dims[0].name]]).cumsum(0)
            inputs.append(ends.to(dtype))
            continue
        shape = [dim.size if dim.kind == "constant" else sizes[dim.name] for dim in spec.dims]
        if not dtype.is_floating_point:
            low, high = _integer_range(spec, program, sizes)
            inputs.append(torch.randint(low, high, shape, generator=generator).to(dtype))
        else:
            inputs.append(torch.randn(shape, generator=generator).to(dtype))
    return inputs


def _integer_range(spec: nsacc.TensorSpec, program: nsacc.Program,
                   sizes: dict[str, int]) -> tuple[int, int]:
    """The range of block indices (-1 pads), tokens in a page, flags or document numbers."""
    block = int(program.params.get("block", program.params.get("page", 1)))
    if spec.name in ("idx", "table"):
        return -1, -(-sizes["S"] // block)
    if spec.name == "filled":
        return 0, block + 1
    return 0, 2 if spec.dtype == "bool" else 3


def to_device(inputs: Sequence[torch.Tensor], device: str = "cuda:0") -> list[torch.Tensor]:
    return [each.to(device) for each in inputs]


def run_all(program: nsacc.Program, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results; skips programs that nsacc can't compile yet, with the message."""
    try:
        results = program(*inputs)
    except (CompileError, ArgumentError) as error:
        if "isn't built yet" in str(error) or "isn't supported" in str(error):
            pytest.skip(str(error).splitlines()[0])
        raise
    return tuple(results) if isinstance(results, tuple) else (results,)


def run(program: nsacc.Program, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """The first result."""
    return run_all(program, inputs)[0]


def compile_example(name: str, dtype: str = "bf16", target: str = TARGET) -> nsacc.Program:
    return Case(name, dtype, target=target).program()


def make_inputs(name: str, tokens: int, seed: int = 0) -> list[torch.Tensor]:
    return Case(name).inputs(tokens, seed=seed)
