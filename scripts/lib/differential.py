"""Runs random programs compiled and on the oracle, and writes the result of each."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import junit


def main() -> int:
    arguments = parse_arguments()
    tester = arguments.root / "build/dev/bin/nsacc-differential"
    if not tester.exists():
        results = {"nsacc-differential": f"{tester} was not built"}
    else:
        start = time.monotonic()
        results = run(tester, arguments)
        print(f"{arguments.programs} programs took {time.monotonic() - start:.0f} s")
    junit.write(arguments.junit, results)
    return 1 if any(results.values()) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the repository")
    parser.add_argument("--programs", type=int, default=500, help="programs to run")
    parser.add_argument("--seed", type=int, default=1, help="first random seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--junit", type=Path, required=True, help="result file to write")
    return parser.parse_args()


def run(tester: Path, arguments: argparse.Namespace) -> dict[str, str]:
    kept = arguments.root / "build/dev/differential"
    command = [str(tester), f"--seed={arguments.seed}", f"--cases={arguments.programs}",
               f"--jobs={arguments.jobs}", f"--keep={kept}", "--reduce=3", "--trials=60",
               "--allow-refused"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if re.match(r"seed \d+:|kept as |refused |\d+ passed", line):
            print(line, end="", flush=True)
    return judge(process.wait(), lines, arguments.programs)


def judge(status: int, lines: list[str], programs: int) -> dict[str, str]:
    """The failure of each program by name; an empty text for programs that passed."""
    results = {f"seed-{match.group(1)}": match.group(2) for line in lines
               if (match := re.match(r"seed (\d+): (.*)", line))}
    last = re.match(r"(\d+) passed \(\d+ runs\), (\d+) refused, (\d+) failed",
                    lines[-1] if lines else "")
    if not last:
        ending = "\n".join(["it ended without a summary", *lines[-20:]])
        return results | {"nsacc-differential": ending}
    passed, refused, failed = map(int, last.groups())
    fits = passed + refused + failed == programs and failed == len(results)
    if not fits or bool(failed) != bool(status):
        results["nsacc-differential"] = f"exit code {status} doesn't fit '{lines[-1]}'"
    return results | {f"passed-{number}": "" for number in range(passed)}


if __name__ == "__main__":
    sys.exit(main())
