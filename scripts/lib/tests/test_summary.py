from __future__ import annotations

import re
from pathlib import Path

import pytest

import junit
import summary

PARTS = (Path(__file__).parents[1] / "parts.sh").read_text()


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


def test_parts_write_the_results_that_are_counted() -> None:
    bodies = re.findall(r"^part_(\w+)\(\) \{\n(.*?)^\}", PARTS, re.MULTILINE | re.DOTALL)
    assert len(bodies) > 5
    for part, body in bodies:
        files = re.findall(r"\$RESULTS/(\S+\.xml)", body)
        files += [f"{name}-x.xml" for name in re.findall(r"run_(?:pytest|lit|fuzzer) (\S+)", body)]
        assert part == "build" or files
        assert all(name.startswith(f"{part}-") for name in files), part


def test_a_part_without_results_says_so(tmp_path: Path) -> None:
    assert "no results lit-*.xml" in summary.explain(tmp_path, "lit", 0)
    junit.write(tmp_path / "lit-a.xml", {"one": ""})
    assert not summary.explain(tmp_path, "lit", 1)


def test_failures_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit.write(tmp_path / "includes-a.xml", {
        "good.cpp": "", **{f"bad{number}.cpp": "lacks an include:\n" + "more\n" * 50
                           for number in range(summary.MOST_FAILURES + 3)}})
    (tmp_path / "lit-a.xml").write_text(
        "<testsuite><testcase classname='Dialect' name='b'><error message='off by one'/>"
        "</testcase></testsuite>")
    summary.print_failures(tmp_path, ["lit", "includes"])
    output = capsys.readouterr().out
    assert output.startswith("\n== failures\n  lit: Dialect: b\n    off by one\n"
                             "  includes: includes-a: bad0.cpp\n    lacks an include:\n")
    assert output.count("lacks") == summary.MOST_FAILURES - 1
    assert output.endswith("  and 4 more\n")
    assert "good" not in output


def test_without_failures_none_are_named(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit.write(tmp_path / "lit-a.xml", {"one": ""})
    summary.print_failures(tmp_path, ["lit"])
    assert not capsys.readouterr().out
