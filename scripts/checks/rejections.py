"""At least a fifth of the lit files test that something is rejected."""

from __future__ import annotations

import re
from pathlib import Path

from checks.lit_files import lit_files, run_lines
from checks.tree import Problem

SHARE = 0.2

_REJECTS = re.compile(r"verify-diagnostics|(?:^|[\s;&|])not\s+(?:--crash\s+)?\S*nsacc")


def check(root: Path) -> list[Problem]:
    lit = list(lit_files(root))
    rejecting = [path for path in lit
                 if any(_REJECTS.search(line) for line in run_lines(path))]
    if len(rejecting) >= SHARE * len(lit):
        return []
    return [Problem("test", 1, f"{len(rejecting)} of {len(lit)} lit files are rejections: "
                               f"at least {SHARE:.0%} should be")]
