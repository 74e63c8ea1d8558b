"""Every program that runs on the CPU compiles for GPUs, or is refused with a reason: no crash, no
endless compilation."""

from __future__ import annotations

import contextlib
import itertools
import re
import subprocess

import pytest

from harness import EXAMPLES
from sweep import cases, table
from sweep.compiling import Outcome, check, compile_case


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        chosen = {"pairwise": cases.pairwise, "full": cases.full}
        metafunc.parametrize("case", chosen[metafunc.config.getoption("--sweep")](), ids=str)


def test_compiles_or_says_why(case: cases.Case):
    outcome = compile_case(case)
    check(case, outcome)
    with contextlib.suppress(KeyError):
        expected = table.find_reason(table.PATH.read_text(), case)
        assert (outcome.says if outcome.is_refused else None) == expected, (
            f"{case}: docs/Sweep.md says otherwise; `python -m sweep` writes it anew")


def find_missing(rows, axes) -> set:
    """Pairs of values of `axes` that no row has."""
    found = {(a, b, row[a], row[b]) for row in rows
             for a, b in itertools.combinations(range(len(axes)), 2)}
    return {(a, b, *values) for a, b in itertools.combinations(range(len(axes)), 2)
            for values in itertools.product(axes[a], axes[b])} - found


@pytest.mark.parametrize("make, axes, first",
                         [(make, axes, *(first or [()])) for make, axes, *first in cases.PAIRWISE])
def test_pairs_are_covered(make, axes, first):
    axes = [list(axis) for axis in axes]
    rows = cases.cover(axes, first)
    assert find_missing(rows, axes) == set()
    # A test of the test: without a value, its pairs are missing.
    for axis, values in enumerate(axes):
        without = [row for row in rows if row[axis] != values[-1]]
        assert len(find_missing(without, axes)) >= sum(map(len, axes)) - len(values)
    assert {make(*row) for row in rows} <= set(cases.pairwise())


def test_pairs_leave_out_no_value():
    """Axes are split in this case, and a program may have all functions."""
    covered = {make: [set() for _ in axes] for make, axes in cases.AXES.items()}
    for make, axes, *_ in cases.PAIRWISE:
        if make in covered:
            for values, axis in zip(covered[make], axes, strict=True):
                values.update(axis)
    covered[cases.function][1] |= set(cases.ROW_PLACES)
    assert covered == {make: list(map(set, axes)) for make, axes in cases.AXES.items()}


@pytest.mark.parametrize("place", cases.ROW_PLACES)
def test_all_functions_are_in_one_program(place):
    before, after = cases.PLACES[place].split("{f}")

    def find_value(case: cases.Case) -> str:
        return case.text.split(f"return {before}")[1].removesuffix(f"{after}; }}")

    singles = [find_value(cases.function(each, place, "sm_80")) for each in cases.FUNCTIONS]
    assert find_value(cases.functions(place, "sm_80")) == " + ".join(singles)


# Stores, reductions and bulk copies out of shared memory.
WRITES = re.compile(r"^\s*(@\S+ )?(st|red|atom)\.(\w+\.)*global"
                    r"|^\s*cp\.async\.bulk\.\S*global\.shared", re.MULTILINE)


def find_idle_kernels(ptx: str) -> list[str]:
    """Kernels that write nothing, so that all they compute is left out."""
    kernels = re.split(r"^\.visible \.entry ", ptx, flags=re.MULTILINE)[1:]
    return [kernel.split("(")[0] for kernel in kernels if not WRITES.search(kernel)]


@pytest.mark.parametrize("dims", ["", "B=1,T=1,S=4096"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.nsa")))
def test_kernels_write(example: str, target: str, dims: str):
    text = (EXAMPLES / f"{example}.nsa").read_text()
    sizes = [f"{name}={size}" for name, size in {"HQ": 8, "H": 2, "D": 64, "DV": 64}.items()
             if re.search(rf"\b{name}\b", text.partition("(")[2].partition("->")[0])
             and f"{name} =" not in text]
    if "ragged" not in text:
        sizes += filter(None, dims.split(","))
    done = subprocess.run(["nsacc", "compile", EXAMPLES / f"{example}.nsa", "--target", target,
                           "--emit", "ptx", "-o", "-", "--dims", ",".join(sizes)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ".entry" in done.stdout and find_idle_kernels(done.stdout) == []


def test_idle_kernels_are_found():
    kernels = (".visible .entry a(\n)\n{\n  st.shared.b32 [%rd1], %r1;\n  ret;\n}\n"
               ".visible .entry b(\n)\n{\n\t@%p1 st.global.b32 [%rd1], %r1;\n}\n")
    assert find_idle_kernels(kernels) == ["a"]


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_crash_is_no_refusal(target):
    """A test of the check: a wrong program is refused with a place."""
    wrong = cases.Case("", "wrong", "", "kernel f(q: [B, T, H, D]) -> [B, T, H, D] { return r; }",
                       target)
    outcome = compile_case(wrong)
    assert outcome.is_refused
    check(wrong, outcome)
    outcome.status = 3
    with pytest.raises(AssertionError, match="ends with 3"):
        check(wrong, outcome)


def test_spills_and_serialized_products_are_found():
    case = cases.Case("", "new", "", "", "sm_90a")
    spilled = "'f' has more values than registers: 8 bytes of each thread's are stored and 4 loaded"
    with pytest.raises(AssertionError, match="spills 12 bytes, known are 0"):
        check(case, Outcome(1.0, 0, spilled))
    with pytest.raises(AssertionError, match="C7510"):
        check(case, Outcome(1.0, 0, "Potential Performance Loss: wgmma serialized (C7510)"))


def test_table_tells_compiled_from_refused():
    first, second = (cases.dense(64, "bf16", target) for target in cases.TARGETS)
    spilled = "'f' has more values than registers: 8 bytes of each thread's are stored and 4 loaded"
    text = table.format_table([
        (first, Outcome(1.0, 0, spilled, 168)), (second, Outcome(0.5, 1, "f.nsa:1:2: error: no"))])
    assert "| `D 64` | 1.0 s, 168, spills 12 | [1] |" in text
    assert "[1] no" in text
    assert table.find_reason(text, first) is None
    assert table.find_reason(text, second) == "no"
    with pytest.raises(KeyError):
        table.find_reason(text, cases.dense(96, "bf16", "sm_80"))
