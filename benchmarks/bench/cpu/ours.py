"""Compiles and runs programs with the project's tools."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

from .works import Work


class Ours:
    """A program compiled for the CPU, as nsacc-tile-run runs it."""

    def __init__(self, work: Work, root: Path, tools: Path, folder: Path, threads: int) -> None:
        self.work, self.tools, self.folder, self.threads = work, tools, folder, threads
        self.module = folder / "program.mlir"
        dims = f"HQ={work.HQ},H={work.H},D={work.D},DV={work.D}"
        params = ([f"--set=len={work.len}", f"--set=stride={work.stride}"]
                  if work.work == "nsa" else [])
        text = self._tool("nsacc-translate", "--import-nsa", "--dtype", work.dtype, *params,
                          root / "examples" / f"{work.work}.nsa")
        text = self._tool("nsacc-opt", "--nsacc-nsa-phase", f"--nsa-specialize=dims={dims}",
                          "--nsa-set-schedule", "--convert-nsa-to-nsatile",
                          "--nsatile-online-softmax",
                          "--canonicalize", "--cse", text=text)
        self.module.write_text(text)
        schedules = re.findall(r"#nsatile\.schedule<([^>]*)>", text)
        self.schedule = schedules[-1] if schedules else ""

    def _tool(self, name: str, *arguments: object, text: str | None = None) -> str:
        done = subprocess.run([self.tools / name, *map(str, arguments)], input=text, text=True,
                              capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name} failed on {self.work}:\n{done.stderr[-2000:]}")
        return done.stdout

    def run(self, inputs: dict[str, np.ndarray], repeats: int,
            keep: bool = False) -> tuple[list[float], dict[str, np.ndarray]]:
        """Processor seconds of each run, and the results if they are kept."""
        shapes = {name: value.shape for name, value in inputs.items()}
        results = self.work.result_shapes()
        arguments: list[object] = [self.module]
        arguments += ["x".join(map(str, shape)) for shape in (shapes | results).values()]
        for name in inputs:
            arguments += ["--input", f"{name}={self.folder / name}.npy"]
        if keep:
            for name in results:
                arguments += ["--output", f"{name}={self.folder / name}.npy"]
        text = self._tool("nsacc-tile-run", *arguments, "--threads", self.threads,
                          "--repeat", repeats, "--timing")
        times = re.search(r"^all runs:([ \d.]+) ms$", text, re.MULTILINE)
        assert times, text
        kept = {name: self._load(name) for name in results} if keep else {}
        return [float(time) / 1e3 for time in times[1].split()], kept

    def save(self, inputs: dict[str, np.ndarray]) -> None:
        import ml_dtypes

        for name, value in inputs.items():
            if self.work.dtype == "bf16" and not name.startswith("g_"):
                value = value.astype(ml_dtypes.bfloat16)
            np.save(self.folder / f"{name}.npy", value)

    def _load(self, name: str) -> np.ndarray:
        import ml_dtypes

        value = np.load(self.folder / f"{name}.npy")
        if value.dtype.kind == "V":
            value = value.view(ml_dtypes.bfloat16)
        return value.astype(np.float64)
