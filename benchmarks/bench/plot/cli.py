"""The command line of `benchmarks/plot`."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .rows import collect


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/plot",
        description="Draws ratio.svg, with the goals, tflops.svg and, where records have times of "
                    "kernels, time.svg from records of the suites dense and sparse. Of several "
                    "records of one work and peer, the last counts.")
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORDS")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    works = collect(options.records)
    if not works:
        print("benchmarks/plot: no record of the suites dense and sparse in "
              + ", ".join(map(str, options.records)), file=sys.stderr)
        return 1
    try:
        from . import draw
    except ModuleNotFoundError as error:
        print(f"benchmarks/plot: {error}: install matplotlib", file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    figures = {"ratio": draw.draw_ratios(works), "tflops": draw.draw_speeds(works)}
    if any(work.kernels for work in works):
        figures["time"] = draw.draw_times(works)
    for name, figure in figures.items():
        path = options.output / f"{name}.svg"
        draw.save(figure, path)
        print(path)
    return 0
