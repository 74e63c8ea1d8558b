from __future__ import annotations

import differential

LINES = ["seed 7: wrong results: 'r0' at [0] is nan", "refused 1: x isn't compiled yet",
         "2 passed (5 runs), 1 refused, 1 failed"]


def test_programs_are_counted() -> None:
    results = differential.judge(1, LINES, 4)
    assert results == {
        "seed-7": "wrong results: 'r0' at [0] is nan", "passed-0": "", "passed-1": ""}


def test_no_summary() -> None:
    assert "without a summary" in differential.judge(1, LINES[:2], 4)["nsacc-differential"]
    assert "without a summary" in differential.judge(0, [], 4)["nsacc-differential"]


def test_programs_are_missing() -> None:
    assert "doesn't fit" in differential.judge(1, LINES, 5)["nsacc-differential"]
    assert "doesn't fit" in differential.judge(0, LINES, 4)["nsacc-differential"]
