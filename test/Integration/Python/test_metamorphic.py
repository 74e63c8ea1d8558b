"""Programs under changes that must not change their results.

Random programs of nsacc-differential, compiled for the CPU: rows of a batch in another order or
alone, and a merged branch that sees nothing. Programs of one attention each: keys that nobody sees.
Where docs/Determinism.md promises the same bits, they are compared bit by bit (but for the sign of
zeros).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nsacc
from test_specification import load_inputs

CHUNKS = range(2001, 2022, 7)
SCHEDULE = "order=query_major,tokens=8,keys=32"


def emit(folder: Path, first: int, count: int = CHUNKS.step) -> list[Path]:
    tool = shutil.which("nsacc-differential")
    assert tool, "nsacc-differential isn't on PATH: build it, and add build/dev/bin"
    flags = ["--emit", folder, "--seed", str(first), "--cases", str(count)]
    subprocess.run([tool, *flags], check=True)
    return sorted(folder.iterdir())


def compile_case(text: str, program: str | None = None) -> nsacc.Program | None:
    """The case's program, or the given one, compiled; none if it can't be compiled yet."""
    schedule = re.search(r"// SCHEDULE: (.*)", text)
    schedule = schedule[1].replace(" ", ",") if schedule else SCHEDULE
    try:
        return nsacc.compile(program or text, target="cpu", schedule=schedule,
                             dtype=re.search(r"dtype=(\w+)", text)[1])
    except nsacc.errors.CompileError as error:
        assert "yet" in str(error) or "smaller tiles" in str(error), error
        return None


def run(program: nsacc.Program, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    """Results; none if the program has an error for these inputs."""
    try:
        results = program.run(inputs)
    except nsacc.errors.NsaccError:
        return None
    return [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]


def same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.kind not in "bi":
        left, right = np.asarray(left, np.float64), np.asarray(right, np.float64)
        return np.array_equal(left, right, equal_nan=True)
    return np.array_equal(left, right)


@pytest.fixture(scope="module", params=CHUNKS)
def cases(request, tmp_path_factory):
    """Programs that can be compiled: text, program, and the inputs of each run."""
    made = []
    for path in emit(tmp_path_factory.mktemp("cases"), request.param):
        text = (path / "program.nsa").read_text()
        if program := compile_case(text):
            runs = sorted(part for part in path.iterdir() if part.is_dir())
            made.append((text, program, [load_inputs(part) for part in runs]))
    return made


# -- Rows of a batch -------------------------------------------------------------------------------

def names_its_row(text: str) -> bool:
    """Whether the program uses the number of the batch row for more than reading tables."""
    return bool(re.search(r"(?<!\[)\bb\b(?!:)", text.partition("{")[2]))


class Batch:
    """Tensors of a program by batch row: `B` is dense, offsets belong to ragged dimensions."""

    def __init__(self, program: nsacc.Program, inputs: list[np.ndarray]):
        self.program, self.inputs = program, inputs
        self.offsets = {str(spec.dims[0].name): data for spec, data
                        in zip(program.signature.inputs, inputs) if spec.is_offsets}
        self.rows = inputs[0].shape[0]
        for offsets in self.offsets.values():
            self.rows = len(offsets) - 1

    def take_of(self, spec, data: np.ndarray, rows: list[int]) -> np.ndarray:
        if spec.is_offsets:
            return np.cumsum([0, *(np.diff(data)[row] for row in rows)]).astype(data.dtype)
        for axis, dim in enumerate(map(str, spec.dims)):
            if dim == "B":
                return np.take(data, rows, axis)
            if dim.startswith("ragged ") and dim.split()[1] in self.offsets:
                bounds = self.offsets[dim.split()[1]]
                places = [np.arange(bounds[row], bounds[row + 1]) for row in rows]
                return np.take(data, np.concatenate(places).astype(int), axis)
        return data

    def take_inputs(self, rows: list[int]) -> list[np.ndarray]:
        return [self.take_of(spec, data, rows)
                for spec, data in zip(self.program.signature.inputs, self.inputs)]

    def check(self, results: list[np.ndarray], rows: list[int]) -> str:
        """The differences if the batch has only these rows."""
        found = run(self.program, self.take_inputs(rows))
        if found is None:
            return f"rows {rows} have an error and the batch has none"
        for spec, one, whole in zip(self.program.signature.results, found, results):
            wanted = self.take_of(spec, whole, rows)
            # A ragged importance has room for the longest row.
            wanted = wanted[..., :one.shape[-1]] if one.ndim == wanted.ndim and one.ndim else wanted
            if not same(one, wanted):
                return f"{spec.name} of rows {rows}"
        return ""


def test_rows_of_a_batch_know_nothing_of_each_other(cases):
    problems, checked = [], 0
    for text, program, runs in cases:
        # Scores handed in have an entry for each block of the longest row.
        if names_its_row(text) or ("ragged" in text and "scores_" in text):
            continue
        for inputs in runs:
            batch = Batch(program, inputs)
            results = run(program, inputs) if batch.rows > 1 else None
            if results is None:
                continue
            checked += 1
            backwards = list(range(batch.rows))[::-1]
            for rows in (backwards, *([row] for row in backwards)):
                if problem := batch.check(results, rows):
                    problems.append(f"{problem}\n{text}")
    assert not problems, "\n\n".join(problems)
    assert checked


# -- Merging ---------------------------------------------------------------------------------------

def with_blind_branch(text: str) -> str | None:
    """The program with its first result merged with a branch that sees nothing."""
    name = re.search(r"return (x\d+)[,;]", text)
    if not name or not (made := re.search(rf"\b{name[1]} = (attend|merge)\((.*)", text)):
        return None
    if " weight " in made[2]:
        return None
    blind = f"merge({name[1]}, attend(q, k, v) where j < 0)"
    return text.replace(f"return {name[1]}", f"return {blind}")


def nearly_same(left: np.ndarray, right: np.ndarray) -> bool:
    """A merge rounds sums and quotients once more: two units in the last place of f32."""
    if left.dtype.kind in "bi" or same(left, right):
        return same(left, right)
    left, right = np.asarray(left, np.float64), np.asarray(right, np.float64)
    return np.allclose(left, right, rtol=2**-22, atol=0, equal_nan=True)


def test_a_branch_that_sees_nothing_changes_nothing(cases):
    problems, checked = [], 0
    for text, program, runs in cases:
        changed = with_blind_branch(text)
        merged = compile_case(text, changed) if changed else None
        for inputs in runs if merged else []:
            results, found = run(program, inputs), run(merged, inputs)
            if results is None or found is None:
                continue
            checked += 1
            if not all(map(nearly_same, results, found)):
                problems.append(changed)
    assert not problems, "\n\n".join(problems)
    assert checked


# -- Keys that nobody sees -------------------------------------------------------------------------

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], seen: bool[B, S], n: i32"
HIDDEN = {
    "count": ("[B, T, HQ, DV]", "attend(q, k, v) where j < n"),
    "table": ("[B, T, HQ, DV]", "attend(q, k, v) where seen[b, j]"),
    "both": ("[B, T, HQ, DV]", "attend(q, k, v) where seen[b, j] and (j < n or j mod 3 == h)"),
    "score": ("[B, T, HQ, DV]", "attend(q, k, v) score select(j < n, softcap(s, 2), -inf)"),
    "weight": ("[B, T, HQ, DV]",
               "attend(q, k, v) where j < n weight silu(s) normalize visible + abs(sum)"),
    "sink": ("[B, T, HQ, DV]", "attend(q, k, v) where j < n sink 0.5"),
    "lse": ("f32[B, T, HQ]", "lse(attend(q, k, v) where seen[b, j])"),
    "pooled": ("[B, T, HQ, DV]", "attend(q, pool(k, 4), pool(v, 4)) where end(j) <= n"),
    "selected": ("[B, T, HQ, DV]", "attend(q, k, v) in (topk(blocks(prob("
                 "attend(q, pool(k, 4)) where end(j) <= n), 8), 3)) where j < n"),
}
ORDERS = ("query_major", "union", "key_major")


def hidden_inputs(rng, keys: int, more: int) -> list[np.ndarray]:
    """`keys` keys, many of them visible, and `more` hidden ones that hold NaN, infinities and
    3e38."""
    shapes = ((2, 11, 6, 16), (2, keys, 3, 16), (2, keys, 3, 8))
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    seen = rng.random((2, keys)) < 0.7
    seen = np.concatenate([seen, np.zeros((2, more), bool)], 1)
    junk = [np.nan, np.inf, -np.inf, 3e38]
    k, v = (np.concatenate([x, rng.choice(junk, (2, more, *x.shape[2:])).astype(np.float32)], 1)
            for x in (k, v))
    return [q, k, v, seen, np.array(keys, np.int32)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", HIDDEN)
def test_keys_that_nobody_sees_change_nothing(name, order):
    result, expression = HIDDEN[name]
    program = nsacc.compile(f"kernel f({HEAD}) -> {result} {{ return {expression}; }}",
                            target="cpu", dtype="f32",
                            schedule=f"order={order},tokens=4,keys=16,splits="
                                     f"{3 if order == 'key_major' else 1}")
    # Whole windows of pooled keys, so that none has both visible and hidden tokens.
    for keys in (8, 40, 64):
        expected = np.asarray(program.run(hidden_inputs(np.random.default_rng(keys), keys, 0)))
        for more in (1, 16, 55):
            rng = np.random.default_rng(keys)
            found = np.asarray(program.run(hidden_inputs(rng, keys, more)))
            if order == "key_major":
                # A split has other keys, so sums are added in another order.
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            else:
                assert same(found, expected), f"{more} keys behind {keys}"
