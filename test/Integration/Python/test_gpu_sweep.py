"""Whatever runs on the CPU compiles for GPUs, or says why: no crash, no endless compilation."""

from __future__ import annotations

import pytest

from sweep import cases, table
from sweep.compiling import Outcome, check, compile_case


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        chosen = {"short": cases.short, "pairwise": cases.pairwise, "full": cases.full}
        metafunc.parametrize("case", chosen[metafunc.config.getoption("--sweep")](), ids=str)


def test_compiles_or_says_why(case: cases.Case):
    check(case, compile_case(case))


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_crash_is_no_refusal(target):
    """The check itself: a program that is wrong is refused, and says where."""
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
