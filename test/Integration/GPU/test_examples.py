"""Every example on the GPU, with its own parameters, against the oracle."""

import pytest

from oracle import agrees
from programs import NAMES, Case

TYPES = [Case(name, dtype=dtype) for dtype in ("bf16", "f16", "f32") for name in NAMES]


@pytest.mark.parametrize("case", TYPES, ids=str)
def test_agrees_with_the_oracle(case):
    for tokens in (1, 200, 300):
        agrees(case, tokens=tokens)


@pytest.mark.parametrize("case", [Case(name, target="sm_80") for name in NAMES], ids=str)
def test_older_code_runs_here_too(case):
    agrees(case, tokens=300)
