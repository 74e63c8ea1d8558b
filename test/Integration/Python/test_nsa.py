"""Native Sparse Attention against its paper's equations: results and, exactly, selections."""

from __future__ import annotations

import numpy as np
import pytest

from harness import (
    EXAMPLES,
    GROUPS,
    close,
    doubles,
    example_returning,
    normal,
    prefill_and_decode,
    program,
    qkv,
    same,
)
from reference.nsa import nsa

# block, top, length, stride, window; the first two are the layouts of published programs at their
# own sizes, the others put more blocks into few tokens.
PAPER = {"block": 64, "top": 16, "len": 32, "stride": 16, "window": 512}
EQUAL = {"block": 64, "top": 3, "len": 64, "stride": 64, "window": 64}
SMALL = {"block": 16, "top": 4, "len": 8, "stride": 4, "window": 10}
SMALL_EQUAL = {"block": 8, "top": 5, "len": 8, "stride": 8, "window": 1}
INDICES = ("idx: i32[B, T, H, top]", "indices(sel)")


def arguments(queries, tokens, group, seed=0):
    rng = np.random.default_rng(seed)
    q, k, v = qkv(rng, queries, tokens, group)
    gates = [normal(rng, 2, queries, 2 * group) for _ in range(3)]
    return (q, k, v, *gates)


def reference(args, options, **more):
    options = dict(options, length=options["len"])
    del options["len"]
    return nsa(*doubles(*args), **options, **more)


def check(args, options):
    out, idx = example_returning("nsa", *INDICES, **options)(*args)
    expected = reference(args, options)
    same(idx, expected.indices)
    close(out, expected.out)


@pytest.mark.parametrize("queries, tokens", prefill_and_decode(64))
@pytest.mark.parametrize("options", (PAPER, EQUAL), ids=("l32_d16_b64", "l64_d64_b64"))
def test_published_layouts(queries, tokens, options):
    check(arguments(queries, tokens, group=2), options)


@pytest.mark.parametrize("queries, tokens", prefill_and_decode(16))
@pytest.mark.parametrize("options", (SMALL, SMALL_EQUAL), ids=("l8_d4_b16", "l8_d8_b8"))
def test_many_blocks(queries, tokens, options):
    check(arguments(queries, tokens, group=1), options)


@pytest.mark.parametrize("group", GROUPS)
def test_group_sizes(group):
    check(arguments(41, 83, group), SMALL)


def test_more_to_select_than_there_is():
    check(arguments(20, 20, 2), dict(SMALL, top=50))


def test_long_row_with_several_paper_blocks():
    check(arguments(40, 700, 2), dict(PAPER, top=5, window=100))


@pytest.mark.parametrize("where", ("query", "key", "value"))
def test_nan_rows(where):
    args = arguments(60, 60, 3)
    tensor, position = {"query": (args[0], (0, 30, 1, 2)), "key": (args[1], (0, 37, 1, 0)),
                        "value": (args[2], (0, 37, 1, 0))}[where]
    tensor[position] = np.nan
    check(args, SMALL)


def test_equal_scores_go_to_the_lower_block():
    args = arguments(90, 90, 2)
    args[0][:] = 0  # every visible window has the same probability
    check(args, SMALL)


def test_the_papers_visibility_is_one_token_more():
    text = (EXAMPLES / "nsa.nsa").read_text()
    assert text.count("end(j) <= i;") == 1
    args = arguments(50, 50, 2)
    out = program(text.replace("end(j) <= i;", "end(j) <= i + 1;"), **SMALL)(*args)
    close(out, reference(args, SMALL, own_token=True).out)


@pytest.mark.parametrize("queries, tokens", prefill_and_decode(16))
def test_learned_pooling_weights(queries, tokens):
    rng = np.random.default_rng(9)
    q, k, v, *gates = arguments(queries, tokens, 2)
    w_k, w_v = normal(rng, 2, SMALL["len"]), normal(rng, 2, SMALL["len"])
    out, idx = example_returning("nsa_pooled_weights", *INDICES, **SMALL)(q, k, v, w_k, w_v, *gates)
    expected = reference((q, k, v, *gates), SMALL, w_k=w_k, w_v=w_v)
    same(idx, expected.indices)
    close(out, expected.out)
