"""The command line: one suite, its options, its works."""
from __future__ import annotations

import argparse
import importlib
import secrets
import sys
from pathlib import Path

from . import record

ROOT = Path(__file__).resolve().parents[2]
GPU: dict[str, object] = {"visit_ms": 150.0, "most_seconds": None, "together": 4, "peers": None,
                          "before": None, "processes": 1, "tune": None}
# Each suite's options beside the common ones, and its defaults.
DEFAULTS: dict[str, dict[str, object]] = {
    "call": {"rounds": 25, "calls": 200},
    "cpu": {"rounds": 3, "tools": ROOT / "build" / "dev" / "bin", "repeats": 3,
            "most_tokens": None, "flex": False},
    "dense": {"rounds": 7, **GPU},
    "sparse": {"rounds": 9, **GPU, "captured": None},
    "start": {"rounds": 5},
    "tune": {"rounds": 9, "most_seconds": 120.0},
}


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run", argument_default=argparse.SUPPRESS,
        description="Measures compiled programs against their peers, in random order, once their "
                    "results were checked.")
    parser.add_argument("--suite", choices=sorted(DEFAULTS), required=True)
    parser.add_argument("--rounds", type=_positive(int),
                        help="visits of each program and peer (call: 25, cpu: 3, dense: 7, "
                             "sparse: 9; start, processes of each kind: 5)")
    parser.add_argument("--work", default=None,
                        help="only works whose description has this in it")
    parser.add_argument("--seed", type=int, default=None,
                        help="of inputs and order; random without it")
    parser.add_argument("--no-peers", action="store_true", default=False,
                        help="only the compiled programs (cpu: unchecked)")
    parser.add_argument("--output", type=Path, default=None,
                        help="where records are added; benchmarks/results/SUITE-DATE.jsonl")
    call = parser.add_argument_group("suite call")
    call.add_argument("--calls", type=_positive(int), help="calls of one visit (200)")
    cpu = parser.add_argument_group("suite cpu", "processor time of one thread")
    cpu.add_argument("--tools", type=Path,
                     help="folder of nsacc-translate, nsacc-opt and nsacc-tile-run")
    cpu.add_argument("--repeats", type=_positive(int), help="timed runs of one visit (3)")
    cpu.add_argument("--most-tokens", type=int, help="leave out longer sequences")
    cpu.add_argument("--flex", action="store_true",
                     help="FlexAttention, too: torch.compile needs a C++ compiler")
    gpu = parser.add_argument_group("suites dense and sparse", "time of one GPU")
    gpu.add_argument("--visit-ms", type=_positive(float),
                     help="how long a visit launches back to back (150)")
    gpu.add_argument("--most-seconds", type=_positive(float),
                     help="stop after so long; what was measured is written (tune: of each "
                          "effort, 120)")
    gpu.add_argument("--together", type=_positive(int),
                     help="how many works share their rounds, if memory allows (4)")
    gpu.add_argument("--peers", metavar="TEXTS",
                     help="only peers whose name has one of these in it, as in cudnn,fa4")
    gpu.add_argument("--before", type=Path, metavar="FOLDER",
                     help="measure another bundle, unpacked there, beside this build")
    gpu.add_argument("--tune", type=_positive(float), metavar="SECONDS",
                     help="tune each program for so long, and measure it beside the compiler's "
                          "choice")
    gpu.add_argument("--processes", type=_positive(int), metavar="N",
                     help="run N processes, and write medians of theirs (1)")
    sparse = parser.add_argument_group("suite sparse")
    sparse.add_argument("--captured", type=Path, metavar="FILE",
                        help="selections of a trained model, made by benchmarks/capture")
    return parser


def _positive(kind: type) -> object:
    def parse(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise ValueError(text)
        return value

    parse.__name__ = f"positive {kind.__name__}"
    return parse


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser()
    options = parser.parse_args(arguments)
    own = DEFAULTS[options.suite]
    for suite, others in DEFAULTS.items():
        for name in others:
            if name not in own and hasattr(options, name):
                parser.error(f"--{name.replace('_', '-')} is an option of --suite {suite}")
    for name, value in own.items():
        if not hasattr(options, name):
            setattr(options, name, value)
    if options.seed is None:
        options.seed = secrets.randbits(32)
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if getattr(options, "processes", 1) > 1:
        return _run_processes(options, sys.argv[1:] if arguments is None else arguments)
    suite = importlib.import_module(f".{options.suite}.suite", __package__)
    return int(suite.run(options, ROOT))


def _run_processes(options: argparse.Namespace, arguments: list[str]) -> int:
    from .gpu.processes import run_all

    path = options.output or record.default_path(ROOT, options.suite)
    # The last of several --processes counts, as for all options.
    return run_all(ROOT / "benchmarks" / "run", [*arguments, "--processes", "1"],
                   options.processes, options.seed, path, options.most_seconds)
