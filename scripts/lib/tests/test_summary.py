from __future__ import annotations

from pathlib import Path

import pytest

import junit
import summary


def test_counts_of_a_part(tmp_path: Path) -> None:
    junit.write(tmp_path / "lit-a.xml", {"one": "", "two": "broken"})
    junit.write(tmp_path / "lit-b.xml", {"three": ""})
    junit.write(tmp_path / "other-a.xml", {"four": ""})
    assert str(summary.count_part(tmp_path, "lit", 1)) == "2 passed, 1 failed"


def test_skipped_tests_are_named(tmp_path: Path) -> None:
    (tmp_path / "lit-a.xml").write_text(
        "<testsuites><testsuite><testcase name='a'><skipped/></testcase>"
        "<testcase name='b'><error/></testcase></testsuite></testsuites>")
    assert str(summary.count_part(tmp_path, "lit", 1)) == "0 passed, 1 failed, 1 skipped"


@pytest.mark.parametrize("status", [0, 5])
def test_a_part_without_tests_has_failed(tmp_path: Path, status: int) -> None:
    assert summary.count_part(tmp_path, "python", status).failed == 1


def test_a_part_that_died_has_failed(tmp_path: Path) -> None:
    junit.write(tmp_path / "python-a.xml", {"one": ""})
    assert str(summary.count_part(tmp_path, "python", 139)) == "1 passed, 1 failed"


def test_a_build_is_one_test(tmp_path: Path) -> None:
    assert str(summary.count_part(tmp_path, "build", 0)) == "1 passed, 0 failed"
    assert str(summary.count_part(tmp_path, "build", 1)) == "0 passed, 1 failed"


def test_any_output_fits_into_a_result_file(tmp_path: Path) -> None:
    junit.write(tmp_path / "fuzz-a.xml", {"one": "\0\x1b[1m <&> \ud800 \u20ac"})
    assert summary.count_junit(tmp_path / "fuzz-a.xml").failed == 1
