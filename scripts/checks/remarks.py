"""Passes that can decline say so in remarks, and lit tests show them passed and missed."""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

DECLINING = (
    "nsatile-specialize-warps", "nsatile-narrow-key-loops", "nsatile-operands-in-registers",
    "nsatile-persist-programs", "nsatile-pipeline-loads", "nsatile-schedule-pipeline",
    "nsatile-assume-finite", "nsatile-combine-early", "nsatile-prefetch-entries",
    "nsatile-bitonic-topk", "nsatile-lower-folds", "nsatile-lower-domains",
    "nsatile-defer-products", "convert-nsa-to-nsatile", "convert-nsatile-to-nvvm",
    "nsatile-assign-layouts",
)

_DECLARED = re.compile(r'PassRemarks \w+ = \{"([^"]+)"')
_SHOWN = re.compile(r"REMARK\S*: \[(Passed|Missed)\]")
REMARKS = "dialects/NSATile/IR/Remarks.h"


def check(root: Path) -> list[Problem]:
    shown: dict[str, set[str]] = {}
    for path in files(root, "test", suffixes=(".mlir", ".nsa", ".test")):
        text = read(path)
        kinds = set(_SHOWN.findall(text))
        runs = " ".join(line for line in text.splitlines() if "RUN:" in line)
        for category in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", runs):
            shown.setdefault(category, set()).update(kinds)
    problems, declared = [], set()
    for path in files(root, "dialects", "lib", suffixes=(".cpp",)):
        text = read(path)
        for match in _DECLARED.finditer(text):
            category = match.group(1)
            declared.add(category)
            problems += [
                Problem(name(root, path), line_of(text, match.start()),
                        f"no lit test of {category} shows a remark [{kind}]")
                for kind in ("Passed", "Missed") if kind not in shown.get(category, set())]
    problems += [Problem(REMARKS, 1, f"{category} makes no remarks")
                 for category in DECLINING if category not in declared]
    return problems
