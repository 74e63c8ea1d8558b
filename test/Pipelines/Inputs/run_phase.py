"""Runs the nsa phase twice over each example of a folder; the second run must change nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(command: list[str], text: str = "") -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main(examples: Path) -> int:
    programs = sorted(examples.glob("*.nsa"))
    changed = [] if programs else ["no examples found"]
    phase = ["nsacc-opt", "--nsacc-nsa-phase", "--verify-roundtrip"]
    for program in programs:
        once = run(phase, run(["nsacc-translate", "--import-nsa", str(program)]))
        if run(phase, once) != once:
            changed.append(f"{program.name}: the second run changes the program")
    print("\n".join(changed))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
