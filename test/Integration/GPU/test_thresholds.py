"""Selections of hundreds to 2048 blocks a row, found by a threshold.

Scores are small integers, or handed in, so that a GPU and the oracle choose the same and ties are
exact: indices are compared exactly.
"""

from __future__ import annotations

import pytest
import torch

import nsacc
from oracle import agrees
from programs import TARGET, Case, to_device

TARGETS = (TARGET, "sm_80")
GIVEN = """
kernel f<top, block = 1>(x: f32[B, T, H, N], k: bf16[B, S, H, D]) -> (idx: i32[B, T, H, top]) {
  return indices(topk(blocks(x, block, map=identity, of=S), top));
}"""


def compare(text: str, inputs: list[torch.Tensor], target: str, schedule: str = "",
            **params) -> torch.Tensor:
    expected = nsacc.compile(text, target="oracle", params=params)(*inputs)
    found = nsacc.compile(text, target=target, schedule=schedule, params=params)(*to_device(inputs))
    assert torch.equal(found.cpu(), expected)
    return found


def handed(entries: int, tokens: int, how: str, batch: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(entries + tokens)
    x = torch.randn(batch, tokens, 1, entries, generator=generator)
    if how == "equal":
        x[:] = 1
    elif how == "rising":
        x[:] = torch.arange(entries)
    elif how == "falling":
        x[:] = -torch.arange(entries)
    elif how == "strange":
        x = (x * 2).round() / 2
        x[..., ::7], x[..., 1::5], x[..., 3::11] = float("nan"), -float("inf"), float("inf")
        x[..., 4::13], x[..., 5::13] = -0.0, 0.0
        x[..., 6::17], x[..., 8::17] = 1e-42, -1e-42
    return [x, torch.zeros(batch, entries, 1, 8, dtype=torch.bfloat16)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", ("random", "equal", "rising", "falling", "strange"))
@pytest.mark.parametrize("top", (1, 100, 300, 513, 1024, 2048))
def test_scores_handed_in(top, how, target):
    for entries in (0, 1, 2047, 2048, 2049, 5000, 70001):
        compare(GIVEN, handed(entries, 3, how), target, "method=threshold", top=top)


@pytest.mark.parametrize("tokens", (0, 1, 63, 65, 67))
def test_numbers_of_tokens(tokens):
    compare(GIVEN, handed(3000, tokens, "strange"), TARGET, top=1000)


def test_many_entries():
    for how in ("random", "equal", "strange"):
        compare(GIVEN, handed(1 << 20, 2, how, batch=1), TARGET, top=2048)


HEAD = "q: bf16[B, T, HQ, D], k: bf16[B, S, H, D]"
SCORES = "a = attend(q, pool(k, 2)) where end(j) <= i scale 1;"


def integers(queries: int, tokens: int, heads: tuple[int, int], channels: int = 16):
    generator = torch.Generator().manual_seed(queries + heads[0])
    return [torch.randint(-2, 3, (2, length, number, channels), generator=generator)
            .to(torch.bfloat16) * 2
            for length, number in ((queries, heads[0]), (tokens, heads[1]))]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("group", (1, 3, 5, 7, 16, 64))
@pytest.mark.parametrize("heads", ("sum", "max", "none"))
def test_heads_of_groups(group, heads, target):
    kept = "HQ" if heads == "none" else "H"
    text = (f"kernel f<top>({HEAD}) -> (idx: i32[B, T, {kept}, top]) {{ {SCORES} "
            f"return indices(topk(score(a, heads={heads}), top)); }}")
    inputs = integers(67, 3000, (2 * group, 2))
    for top, schedule in ((20, "method=threshold"), (300, ""), (1025, "")):
        compare(text, inputs, target, schedule, top=top)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("clauses, forced", [
    ("keep first 1, last 2", 0), ("plus first 3, last 2", 5), ("where end(j) mod 3 != 0", 0),
    ("share tokens 4", 0), ("share tokens 3 by max", 0), ("share tokens 5 by last keep last 2", 0),
    ("share heads 2", 0), ("share heads 4", 0)])
def test_clauses(clauses, forced, target):
    text = (f"kernel f<top>({HEAD}) -> (idx: i32[B, T, H, K]) {{ {SCORES} "
            f"return indices(topk(score(a), top) {clauses}); }}")
    for top in (200, 1000):
        found = compare(text, integers(130, 5000, (12, 4)), target, top=top)
        assert found.shape[-1] == top + forced


@pytest.mark.parametrize("target", TARGETS)
def test_counts(target):
    text = (f"kernel f<top>({HEAD}, c: i32[B, T, H]) -> (idx: i32[B, T, H, K]) {{ {SCORES} "
            "return indices(topk(score(a), top) plus first 1, last 2 count c); }")
    counts = torch.randint(0, 301, (2, 67, 2), generator=torch.Generator().manual_seed(1))
    compare(text, [*integers(67, 3000, (6, 2)), counts.to(torch.int32)], target, top=300)


@pytest.mark.parametrize("target", TARGETS)
def test_ragged_rows(target):
    text = ("kernel f<top>(q: bf16[ragged T, HQ, D], k: bf16[ragged S, H, D]) "
            f"-> (idx: i32[ragged T, H, top]) {{ {SCORES} return indices(topk(score(a), top)); }}")
    lengths = torch.tensor([0, 0, 5, 5, 3006, 3070, 3071, 3071], dtype=torch.int32)
    inputs = [each[0] for each in integers(3071, 3071, (4, 2))]
    compare(text, [*inputs, lengths, lengths], target, top=300)


def test_the_same_bits_each_time():
    program = nsacc.compile(GIVEN, target=TARGET, params={"top": 2048})
    inputs = to_device(handed(40000, 65, "strange"))
    first = program(*inputs).clone()
    for _ in range(20):
        assert torch.equal(program(*inputs), first)


# Attention within a selection, computed and handed in.
ATTENTIONS = [Case("block_sparse", dtype, heads=heads, params=(("block", 1), ("top", top)),
                   schedule=schedule, target=target)
              for top in (300, 1024, 2048) for dtype, heads in (("bf16", (4, 1)), ("f32", (3, 3)))
              for schedule in ("", "order=query_major") for target in TARGETS]


@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_attention_in_wide_selections(case):
    for tokens, keys in ((1, 2500), (67, 2500)):
        agrees(case, tokens=tokens, keys=keys)


CHOSEN = [Case("moba", heads=heads, params=(("block", 2), ("top", top)), schedule=schedule)
          for heads in ((1, 1), (5, 1), (16, 1)) for top in (129, 512, 2048)
          for schedule in ("", "order=query_major")]


@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_attention_in_what_was_selected(case):
    for tokens, keys in ((1, 2500), (67, 5000)):
        agrees(case, tokens=tokens, keys=keys)
