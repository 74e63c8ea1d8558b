"""The suite `call`: microseconds of the host that a call takes.

A visit makes calls behind each other. On a GPU it waits only after all of them, so that the time is
the host's for putting a run on a stream. On the CPU the inputs are the smallest, and the run itself
is in the time. Ways that take the same tensors and give the same results stand beside each other.
An operator of torch's that only makes its results shows the least cost of an operator.
"""
from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import record

WAYS = ("call", "operator", "overload", "run", "empty", "sdpa")


@dataclass(frozen=True)
class Work:
    """A work of examples/flash.nsa, with three inputs and two results."""

    target: str
    batch: int
    tokens: int
    heads: int = 8
    key_heads: int = 2
    width: int = 64

    def __str__(self) -> str:
        return (f"flash {self.target} {self.dtype} B {self.batch} T {self.tokens} HQ {self.heads} "
                f"H {self.key_heads} D {self.width}")

    @property
    def dtype(self) -> str:
        return "f32" if self.target == "cpu" else "bf16"

    def make_inputs(self) -> list[Any]:
        import torch

        dtype = torch.float32 if self.target == "cpu" else torch.bfloat16
        return [torch.randn(self.batch, self.tokens, heads, self.width, dtype=dtype,
                            device=self.target)
                for heads in (self.heads, self.key_heads, self.key_heads)]


# Without queries there is nothing to run: only the host's time remains.
WORKS = (Work("cpu", 1, 0), Work("cpu", 1, 1), Work("cuda", 2, 128))


def make_ways(work: Work, root: Path) -> dict[str, Callable[[], Any]]:
    """Functions without arguments, all with the work's inputs."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    import nsacc
    import nsacc.torch

    program = nsacc.compile(root / "examples" / "flash.nsa", dtype=work.dtype, target=work.target)
    inputs = work.make_inputs()
    operator = nsacc.torch.op(program)
    overload = operator.overload
    # The order that torch's attention takes without a copy.
    queries, keys, values = (tensor.transpose(1, 2).contiguous() for tensor in inputs)
    like = [(tuple(result.shape), result.dtype) for result in program(*inputs)]

    @torch.library.custom_op(f"nsacc_benchmark::empty_{work.target}_{work.tokens}",
                             mutates_args=(),
                             schema="(Tensor q, Tensor k, Tensor v) -> (Tensor, Tensor)")
    def empty(q: Any, k: Any, v: Any) -> Any:
        return tuple(torch.empty(shape, dtype=dtype, device=q.device) for shape, dtype in like)

    return {
        "call": lambda: program(*inputs),
        "operator": lambda: operator(*inputs),
        "overload": lambda: overload(*inputs),
        "run": lambda: program.run(inputs),
        "empty": lambda: empty(*inputs),
        "sdpa": lambda: scaled_dot_product_attention(queries, keys, values, enable_gqa=True),
    }


def visit(function: Callable[[], Any], calls: int, wait: Callable[[], None]) -> float:
    """Seconds of one call."""
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    seconds = time.perf_counter() - start
    wait()
    return seconds / calls


def _wait_for(work: Work) -> Callable[[], None]:
    import torch

    return torch.cuda.synchronize if work.target == "cuda" else (lambda: None)


def to_us(seconds: float) -> float:
    return round(seconds * 1e6, 2)


def measure(work: Work, options: argparse.Namespace, root: Path,
            order: random.Random) -> list[dict[str, object]]:
    ways, wait = make_ways(work, root), _wait_for(work)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for function in ways.values():
        visit(function, options.calls, wait)
    for _ in range(options.rounds):
        for way in order.sample(WAYS, len(WAYS)):
            times[way].append(visit(ways[way], options.calls, wait))
    return [{"suite": "call", "work": str(work), "way": way, "us": to_us(record.median(seconds)),
             "spread": [to_us(min(seconds)), to_us(max(seconds))],
             "empty_us": to_us(record.median(times["empty"]))}
            for way, seconds in times.items()]


def run(options: argparse.Namespace, root: Path) -> int:
    works = [work for work in WORKS
             if record.can_run(work.target) and (not options.work or options.work in str(work))]
    if not works:
        print(f"benchmarks/run: no work that this machine can do has '{options.work}' in it",
              file=sys.stderr)
        return 2
    import torch

    common = {"rounds": options.rounds, "calls": options.calls, "seed": options.seed,
              "processor": record.describe_processor(),
              "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
              "commit": record.describe_commit(root), **record.describe_versions()}
    # Other threads would be in the time.
    torch.set_num_threads(1)
    order = random.Random(options.seed)
    records = []
    for work in works:
        for line in measure(work, options, root, order):
            records.append({**line, **common})
            print(f"{line['work']}, {line['way']}: {line['us']} us", flush=True)
    record.write(records, options.output or record.default_path(root, "call"))
    return 0
