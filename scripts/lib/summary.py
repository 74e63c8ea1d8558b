"""Sums up a run of scripts/test: failures, a line for each part, then `N passed, N failed`."""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_FAILURES = 20
"""The most failures that are printed; all count."""
MOST_LINES = 5
"""The most lines that are printed for one failure."""


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self) -> str:
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


def count_junit(path: Path) -> Counts:
    counts = Counts()
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            counts.failed += 1
        elif "skipped" in kinds:
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def count_part(results: Path, part: str, status: int) -> Counts:
    """The counts of a part. A part that failed without a failing test counts as a failure itself,
    and so does a part that ran no test; a build counts as one test."""
    counts = Counts()
    for junit in sorted(results.glob(f"{part}-*.xml")):
        counts += count_junit(junit)
    if part == "build" and status == 0:
        counts.passed += 1
    ran_nothing = counts.passed + counts.failed + counts.skipped == 0
    if (status != 0 and counts.failed == 0) or ran_nothing:
        counts.failed += 1
    return counts


def describe_failures(path: Path) -> Iterator[str]:
    """The name of each failed test, and the beginning of its output."""
    for case in ElementTree.parse(path).iter("testcase"):
        for child in case:
            if child.tag in ("failure", "error"):
                lines = (child.get("message") or child.text or "").strip().splitlines()
                yield "\n    ".join([f"{case.get('classname')}: {case.get('name')}",
                                    *lines[:MOST_LINES]])


def print_failures(results: Path, parts: list[str]) -> None:
    """Prints a screen of failures: the parts' output is long."""
    failures = [f"{part}: {failure}" for part in parts
                for junit in sorted(results.glob(f"{part}-*.xml"))
                for failure in describe_failures(junit)]
    if failures:
        print("\n== failures")
    for failure in failures[:MOST_FAILURES]:
        print(f"  {failure}")
    if len(failures) > MOST_FAILURES:
        print(f"  and {len(failures) - MOST_FAILURES} more")


def explain(results: Path, part: str, status: int) -> str:
    """Says why a part failed without a failed test."""
    if part != "build" and not list(results.glob(f"{part}-*.xml")):
        return f" (exit code {status}, and no results {part}-*.xml)"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder with parts.tsv and the JUnit files")
    results = parser.parse_args().results

    rows = [line.split("\t") for line in (results / "parts.tsv").read_text().splitlines()]
    print_failures(results, [part for part, _, _ in rows])
    total = Counts()
    print("\n== summary")
    for part, status, time in rows:
        counts = count_part(results, part, int(status))
        total += counts
        print(f"  {part:<12} {time:>9}   {counts}{explain(results, part, int(status))}")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
