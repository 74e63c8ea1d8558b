"""The oracle against a second implementation of docs/spec.md, on random programs.

`nsacc-differential --emit` writes programs with inputs; specification/ evaluates them. Rows where a
rounding of fp64 decides the selection are left out if the two differ.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nsacc
from specification import Reader
from specification.scalars import ProgramError

# Both compute in fp64, and add in other orders; functions amplify that.
TOLERANCE = 1e-9
SEEDS = [(first, 10) for first in range(1, 81, 10)]
IMPORTANCE_SEEDS = range(3001, 3321, 40)


def load(path: Path) -> np.ndarray:
    """An input as the program declares it; bf16 is two opaque bytes in .npy."""
    data = np.load(path)
    if data.dtype.kind != "V":
        return data
    return data.view(ml_dtypes.bfloat16)


def load_inputs(folder: Path) -> list[np.ndarray]:
    paths = sorted(folder.glob("*.npy"), key=lambda path: int(path.name.partition("-")[0]))
    return [load(path) for path in paths]


def differing_rows(found: np.ndarray, expected: np.ndarray, rows: tuple[int, ...]) -> np.ndarray:
    """Differences by query row, or for the whole result if it has no query rows."""
    found, expected = (np.asarray(x, np.float64).reshape(*rows, -1) for x in (found, expected))
    finite = np.isfinite(found) & np.isfinite(expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    error = np.abs(np.where(finite, found, 0) - np.where(finite, expected, 0))
    size = np.where(np.isfinite(expected), np.abs(expected), 0)
    size = size.max(axis=-1, keepdims=True, initial=0)
    return ~(same | finite & (error <= TOLERANCE * size + 1e-30)).all(axis=-1)


def compare(found, expected, close: list[np.ndarray] | None, batch_shape: tuple[int, ...]) -> str:
    if found.size == expected.size == 0:
        return ""
    if found.shape != expected.shape:
        return f"shapes {found.shape} and {expected.shape}"
    if found.dtype.kind in "bi" and (found == expected).all():
        return ""
    if found.dtype.kind in "bi" and close is None:
        return f"{np.sum(found != expected)} of {found.size} elements"
    has_rows = close is not None and found.shape[:len(batch_shape)] == batch_shape
    wrong = differing_rows(found, expected, batch_shape if has_rows else ())
    if has_rows:
        undecided = np.stack(close) if len(batch_shape) == 2 else np.concatenate(close)
        wrong &= ~undecided
    return f"{int(wrong.sum())} of {wrong.size} rows" if wrong.any() else ""


def check_run(program: nsacc.Program, reader: Reader, inputs: list[np.ndarray]) -> str:
    """A text about the difference, or an empty one."""
    try:
        expected, close = reader.run_with_close(*inputs)
    except ProgramError as error:
        try:
            program.run(inputs)
        except nsacc.errors.NsaccError:
            return ""
        return f"the reader says {error}, the oracle nothing"
    results = program.run(inputs, f64_results=True)
    results = results if isinstance(results, tuple) else (results,)
    query = reader.tokens_first(inputs[0], reader.inputs[0][1])
    for spec, dims, found, wanted in zip(program.signature.results, reader.results, results,
                                         expected, strict=True):
        found = reader.tokens_first(np.asarray(found), dims)
        if message := compare(found, wanted, close if close else None, query.shape[:-2]):
            return f"{spec.name}: {message}"
    return ""


def check_case(folder: Path) -> list[str]:
    text = (folder / "program.nsa").read_text()
    dtype = re.search(r"dtype=(\w+)", text).group(1)
    program = nsacc.compile(text, target="oracle", dtype=dtype)
    reader = Reader(text)
    problems = []
    for run in sorted(path for path in folder.iterdir() if path.is_dir()):
        if message := check_run(program, reader, load_inputs(run)):
            problems.append(f"{run}: {message}")
    return problems


def emit(folder: Path, first: int, count: int) -> list[Path]:
    flags = ["--emit", folder, "--seed", str(first), "--cases", str(count)]
    subprocess.run([find_tool(), *flags], check=True)
    return sorted(folder.iterdir())


def find_tool() -> str:
    tool = shutil.which("nsacc-differential")
    assert tool, "nsacc-differential isn't on PATH: build it, and add build/dev/bin"
    return tool


@pytest.mark.parametrize(("first", "count"), SEEDS)
def test_random_programs_mean_what_the_specification_says(first, count, tmp_path):
    problems = [problem for folder in emit(tmp_path, first, count)
                for problem in check_case(folder)]
    assert not problems, "\n".join(problems)


def is_about_importance(text: str) -> bool:
    """Whether it returns an importance (the generator calls its last dimension P and a number), or
    the blocks that one selects."""
    head, _, body = text.partition("{")
    has_importance = re.search(r"\b(prob|score|activation)\(x", body)
    return bool(re.search(r"P\d+\]", head) or has_importance and "indices(" in body)


@pytest.mark.parametrize("first", IMPORTANCE_SEEDS)
def test_random_importances_mean_what_the_specification_says(first, tmp_path):
    """Attention is in every program; importance, blocks and topk are in a third."""
    flags = ["--print", "--seed", str(first), "--cases", str(IMPORTANCE_SEEDS.step)]
    printed = subprocess.run([find_tool(), *flags], check=True, capture_output=True, text=True)
    programs = printed.stdout.split("// CASE:")[1:]
    assert len(programs) == IMPORTANCE_SEEDS.step
    seeds = [first + n for n, text in enumerate(programs) if is_about_importance(text)]
    assert len(seeds) >= 5
    problems = [problem for seed in seeds for folder in emit(tmp_path / str(seed), seed, 1)
                for problem in check_case(folder)]
    assert not problems, "\n".join(problems)
