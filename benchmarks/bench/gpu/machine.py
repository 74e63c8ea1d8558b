"""The GPU, its clocks while programs run, and versions."""
from __future__ import annotations

import functools
import importlib.metadata
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence

import torch

import nsacc

from .. import record

SAMPLE_MS = 100
Interval = tuple[float, float]


def describe_gpu() -> dict[str, object]:
    facts: dict[str, object] = {"gpu": torch.cuda.get_device_name(0)}
    for name, query in (("driver", "driver_version"), ("power_limit_w", "power.limit"),
                        ("most_sm_mhz", "clocks.max.sm")):
        facts[name] = _ask(query)
    return facts


def describe_versions() -> dict[str, object]:
    versions: dict[str, object] = dict(record.describe_versions())
    versions |= {"cuda": torch.version.cuda, "nsacc": nsacc.env()["nsacc"]}
    if torch.backends.cudnn.is_available():
        versions["cudnn"] = torch.backends.cudnn.version()
    try:
        versions["triton"] = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        pass
    return versions


class ClockSampler:
    """Samples the SM clock and the power in the background; has no samples without nvidia-smi."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float, float]] = []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ClockSampler:
        try:
            self._process = subprocess.Popen(
                _command("clocks.sm,power.draw", "-lms", str(SAMPLE_MS)), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            return self
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            try:
                clock, power = (float(part) for part in line.split(","))
            except ValueError:
                continue
            self.samples.append((time.monotonic(), clock, power))

    def summarize(self, visits: Sequence[Interval]) -> dict[str, list[float]] | None:
        """Least, median and most of the samples during these visits."""
        seen = [sample for sample in list(self.samples)
                if any(start <= sample[0] <= end for start, end in visits)]
        if not seen:
            return None
        return {name: _summarize([sample[index] for sample in seen])
                for index, name in ((1, "sm_mhz"), (2, "power_w"))}


def _summarize(values: list[float]) -> list[float]:
    return [min(values), round(statistics.median(values), 1), max(values)]


def _command(query: str, *more: str) -> list[str]:
    return ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", *more,
            "-i", _find_gpu()]


@functools.cache
def _find_gpu() -> str:
    """The GPU's name for nvidia-smi: torch may count GPUs in another way."""
    uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
    listed = subprocess.run(["nvidia-smi", "-L"], text=True, capture_output=True, check=False)
    return f"GPU-{uuid}" if f"GPU-{uuid}" in listed.stdout else "0"


def _ask(query: str) -> str | float | None:
    try:
        text = subprocess.run(_command(query), text=True, capture_output=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return float(text) if text.replace(".", "", 1).isdigit() else text
