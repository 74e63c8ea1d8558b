"""Compiles the whole sweep and writes its table and the known spills."""

from __future__ import annotations

import argparse
import sys

from . import cases, compiling, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sweep", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="compilations side by side")
    parser.add_argument("--only", default="", help="cases whose name contains this; writes nothing")
    arguments = parser.parse_args()
    chosen = [case for case in cases.full() if arguments.only in str(case)]
    rows = []
    for case, outcome in compiling.compile_all(chosen, arguments.jobs):
        rows.append((case, outcome))
        print(f"{len(rows)}/{len(chosen)} {case}: {outcome.seconds:.1f} s, "
              f"{outcome.registers} registers, spills {outcome.spills}; {outcome.says}",
              flush=True)
    if not arguments.only:
        table.PATH.write_text(table.format_table(rows))
        compiling.write_spills(rows)
    wrong = 0
    for case, outcome in rows:
        try:
            compiling.check(case, outcome)
        except AssertionError as error:
            wrong += 1
            print(error, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
