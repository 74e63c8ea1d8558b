"""The suite `sparse`."""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from ..gpu import suite
from ..gpu.machine import describe_gpu
from . import works
from .details import Details
from .floors import EXPS_PER_CLOCK, Ceilings
from .kernels import measure_kernels


def run(options: argparse.Namespace, root: Path) -> int:
    every = works.load(root / "benchmarks" / "sparse.json", options.captured)
    return suite.run(options, root, list(every), Details(find_ceilings(), measure_kernels))


def find_ceilings() -> Ceilings:
    """Exponentials are the present GPU's; other ceilings are an H200's."""
    if not torch.cuda.is_available():
        return Ceilings()
    clock = describe_gpu()["most_sm_mhz"]
    if not isinstance(clock, float):
        return Ceilings()
    count = torch.cuda.get_device_properties(0).multi_processor_count
    return replace(Ceilings(), exps=EXPS_PER_CLOCK * count * clock * 1e6)
