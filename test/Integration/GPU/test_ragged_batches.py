"""Rows of a batch packed behind each other: empty, of one token, of many, of more keys."""

import pytest

from oracle import agrees
from programs import Case

EQUAL = [
    [], [0], [1], [0, 0, 0], [64], [127, 0, 0, 2], [0, 65, 0, 129, 0], [63, 1, 64, 65, 2, 128, 3],
    [1] * 300, [5, 0] * 80, [700, 1, 300],
]
UNEQUAL = [
    [(1, 1000)], [(1, 64), (1, 127), (1, 0), (1, 300)], [(0, 65), (65, 0), (64, 65)],
    [(130, 40), (2, 1), (300, 129)], [(3, 257)] * 50,
]
ROWS = [[(tokens, tokens) for tokens in row] for row in EQUAL] + UNEQUAL
OWN = ("ragged_flash", "ragged_full", "ragged_band", "ragged_moba")
CASES = [Case.small("hstu_bsa"), Case("hstu_bsa")] + [
    Case(name, heads=heads, channels=channels) for name in OWN
    for heads, channels in [((4, 2), (64, 64)), ((3, 1), (128, 128))]] + [
    Case(name, target="sm_80") for name in OWN]


def name_rows(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    shown = ",".join(f"{tokens}/{keys}" for tokens, keys in value[:7])
    return f"[{shown}{',…' if len(value) > 7 else ''}]"


@pytest.mark.parametrize("case, rows", [
    (case, rows) for case in CASES for rows in ROWS
    if case.name != "hstu_bsa" or rows not in UNEQUAL], ids=name_rows)
def test_rows(case, rows):
    agrees(case, rows=rows)
