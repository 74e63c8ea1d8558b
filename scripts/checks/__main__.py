"""Runs checks by name, or all: PYTHONPATH=scripts python -m checks [NAME...]"""

from __future__ import annotations

import importlib
import sys

from checks.registry import CHECKS, REPOSITORY


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"unknown check {unknown[0]!r}; there are: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    failed = False
    for name in names or CHECKS:
        problems = importlib.import_module(f"checks.{name}").check(REPOSITORY)
        failed |= bool(problems)
        for problem in problems:
            print(problem)
        print(f"{name}: {len(problems)} problem{'s' * (len(problems) != 1)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
