"""docs/Sweep.md: a table for each group of cases."""

from __future__ import annotations

import re

from .cases import ROOT, Case
from .compiling import Outcome

PATH = ROOT / "docs" / "Sweep.md"
HEAD = """# What compiles for GPUs

Written by `python -m sweep` (test/Integration/Python/sweep), which compiles each program without
a GPU, with HQ = 8 query heads, H = 2 key heads and, where a table doesn't say otherwise,
D = DV = 64 in bf16. A cell has the processor seconds of compiling, the registers of a thread, and
the bytes that a thread spills: the largest of both targets where a table doesn't separate them. A
number in brackets is a refusal; its reason stands below the table."""


class _Reasons:
    """Numbers of the reasons for which programs are refused."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, reason: str) -> int:
        return self._numbers.setdefault(reason, len(self._numbers) + 1)

    def lines(self) -> list[str]:
        return [f"- [{number}] {reason}" for reason, number in self._numbers.items()]


def _format_cell(rows: list[tuple[Case, Outcome]], reasons: _Reasons) -> str:
    compiled = [outcome for _, outcome in rows if outcome.status == 0]
    refused: dict[int, list[str]] = {}
    for case, outcome in rows:
        if outcome.status != 0:
            refused.setdefault(reasons.number(outcome.says), []).append(case.target)
    parts = []
    if compiled:
        parts.append(f"{max(each.seconds for each in compiled):.1f} s, "
                     f"{max(each.registers for each in compiled)}")
        if spills := max(each.spills for each in compiled):
            parts[0] += f", spills {spills}"
    for number, targets in refused.items():
        where = "" if len(targets) == len(rows) else " " + ", ".join(targets)
        parts.append(f"[{number}]{where}")
    return "; ".join(parts)


def _format_group(group: str, rows: list[tuple[Case, Outcome]]) -> list[str]:
    columns = list(dict.fromkeys(case.column for case, _ in rows))
    lines = [f"## {group}", "", f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    cells: dict[tuple[str, str], list[tuple[Case, Outcome]]] = {}
    for case, outcome in rows:
        cells.setdefault((case.row, case.column), []).append((case, outcome))
    reasons = _Reasons()
    for row in dict.fromkeys(case.row for case, _ in rows):
        values = [_format_cell(cells.get((row, column), []), reasons) for column in columns]
        lines.append(f"| `{row}` | {' | '.join(values)} |")
    said = reasons.lines()
    return [*lines, "", *said] if said else lines


def format_table(rows: list[tuple[Case, Outcome]]) -> str:
    lines = [HEAD]
    for group in dict.fromkeys(case.group for case, _ in rows):
        lines += ["", *_format_group(group, [each for each in rows if each[0].group == group])]
    return "\n".join(lines).rstrip() + "\n"


def find_reason(text: str, case: Case) -> str | None:
    """Why a table says that the case is refused; none where it compiles. KeyError without a row."""
    group = text.partition(f"\n## {case.group}\n")[2].partition("\n## ")[0]
    reasons = dict(re.findall(r"^- \[(\d+)\] (.*)$", group, re.MULTILINE))
    lines = [line[1:-1].split("|") for line in group.splitlines() if line.startswith("|")]
    rows = {name.strip(" `"): cells for name, *cells in lines}
    columns = [column.strip() for column in rows[""]]
    cell = rows[case.row][columns.index(case.column)]
    for number, targets in re.findall(r"\[(\d+)\]([^;]*)", cell):
        if not targets.strip() or case.target in targets:
            return reasons[number]
    return None
