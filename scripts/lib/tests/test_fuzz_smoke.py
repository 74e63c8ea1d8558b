from __future__ import annotations

from pathlib import Path

import fuzz_smoke

LOG = """#1 NEW
input.nsa:1:2: runtime error: signed integer overflow
    #0 0x1 in parse
artifact_prefix='x/'; Test unit written to x/crash-1
stat::number_of_executed_units: 99
"""


def judge(tmp_path: Path, status: int, text: str) -> str:
    log = tmp_path / "log"
    log.write_text(text)
    return fuzz_smoke.judge(status, log, 100, "frontend-fuzzer")


def test_fault(tmp_path: Path) -> None:
    failure = judge(tmp_path, 77, LOG)
    assert "exit code 77" in failure
    assert "signed integer overflow" in failure and "#1 NEW" not in failure
    assert failure.endswith("frontend-fuzzer x/crash-1")


def test_too_few_programs(tmp_path: Path) -> None:
    assert "only 99 of 100" in judge(tmp_path, 0, LOG)
    assert "unknown number" in judge(tmp_path, 0, "")


def test_enough_programs(tmp_path: Path) -> None:
    assert judge(tmp_path, 0, LOG.replace("99", "100")) == ""
