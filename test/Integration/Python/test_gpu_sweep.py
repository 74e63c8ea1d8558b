"""Whatever runs on the CPU compiles for GPUs, or says why: no crash, no endless compilation."""

from __future__ import annotations

import pytest

from gpu_sweep import Case, check, compile_case, short_sweep


@pytest.mark.parametrize("case", short_sweep(), ids=str)
def test_compiles_or_says_why(case: Case):
    check(case, compile_case(case))


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_crash_is_no_refusal(target):
    """The check itself: a program that is wrong is refused, and says where."""
    wrong = Case("wrong", "kernel f(q: [B, T, H, D]) -> [B, T, H, D] { return r; }", target)
    outcome = compile_case(wrong)
    assert outcome.is_refused
    check(wrong, outcome)
    outcome.status = 3
    with pytest.raises(AssertionError, match="ends with 3"):
        check(wrong, outcome)
