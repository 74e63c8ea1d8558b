"""Outputs of attentions with separate programs stand in memory in slices of batch rows and tokens
(program=own, chunk=MiB): for any size of a chunk, results have the same bits as with one slice.
GPUs are in ../GPU/test_sliced_results.py."""

from __future__ import annotations

import pytest
import torch

import nsacc
from harness import EXAMPLES

PARAMS = {"block": 16, "top": 5, "len": 8, "stride": 4, "window": 20}
CHANNELS = 128


def inputs(batch: int, tokens: int, heads: tuple[int, int], keys: int | None = None):
    generator = torch.Generator().manual_seed(tokens)
    keys = tokens if keys is None else keys
    q = torch.randn(batch, tokens, heads[0], 8, generator=generator)
    k = torch.randn(batch, keys, heads[1], 8, generator=generator)
    v = torch.randn(batch, keys, heads[1], CHANNELS, generator=generator)
    gates = [torch.rand(batch, tokens, heads[0], generator=generator) for _ in range(3)]
    return q, k, v, *gates


def compile_nsa(schedule: str, dtype: str = "f32", target: str = "cpu") -> nsacc.Program:
    return nsacc.compile(EXAMPLES / "nsa.nsa", target=target, dtype=dtype, params=PARAMS,
                         schedule=schedule)


# A token of 64 heads has 32 KiB: 32 tokens a slice, or fewer that tiles divide.
@pytest.mark.parametrize("schedule, tiles, group", [
    ("cmp: program=own, tokens=4; slc: tokens=2; sel: tokens=1", 4, 1),
    ("cmp: program=own, tokens=3; swa: program=own, tokens=2; slc: tokens=5; sel: tokens=1", 30, 3),
    ("cmp: program=own, tokens=4; slc: order=union, tokens=8; sel: method=threshold, tokens=2", 8,
     16),
    ("cmp: program=own, tokens=4, splits=3; cmp.merge: tokens=1; slc: tokens=4; sel: tokens=1;"
     " swa: splits=2; swa.merge: tokens=1", 4, 4)])
def test_results_are_the_same_bits(schedule, tiles, group):
    heads = (48, 16) if group == 3 else (64, 64 // group)
    whole, cut = (compile_nsa(f"chunk={chunk}; {schedule}") for chunk in (65536, 1))
    room = (1 << 20) // (heads[0] * CHANNELS * 4) // tiles * tiles
    for batch, tokens in ((2, 0), (0, 5), (2, 1), (5, 2), (1, room - 1), (1, room), (1, room + 1),
                          (3, room // 2 - 1), (2, 97)):
        values = inputs(batch, tokens, heads)
        expected, in_one = whole.run_timed(values)
        found, timing = cut.run_timed(values)
        assert torch.equal(found, expected), (batch, tokens)
        outputs = schedule.count("program=own")
        others = in_one.workspace_bytes - outputs * batch * tokens * heads[0] * CHANNELS * 4
        assert timing.workspace_bytes <= (outputs << 20) + 1.5 * others, (batch, tokens)


@pytest.mark.parametrize("tokens, keys", [(33, 33), (70, 133), (40, 9)])
@pytest.mark.parametrize("schedule", [
    "cmp: program=own; slc: tokens=2; sel: tokens=2",
    # States of lists have slices of their own: results stand whole beside them.
    "slc: order=key_major; swa: program=own",
    "slc: order=key_major; cmp: program=own; swa: program=own, splits=2"])
def test_oracle(tokens, keys, schedule):
    schedule = f"chunk=1; {schedule}"
    values = inputs(2, tokens, (64, 4), keys)
    expected = compile_nsa("", target="oracle")(*values)
    torch.testing.assert_close(compile_nsa(schedule)(*values), expected, rtol=1e-5, atol=1e-5)


def test_halves():
    """Outputs of bf16 values are halves with a scale for each row: 64 tokens a slice."""
    schedule = "cmp: program=own, tokens=4; swa: program=own; slc: tokens=2"
    values = [each.bfloat16() for each in inputs(2, 150, (64, 4))[:3]]
    values += inputs(2, 150, (64, 4))[3:]
    whole, cut = (compile_nsa(f"chunk={chunk}; {schedule}", "bf16") for chunk in (65536, 1))
    assert torch.equal(whole(*values), cut(*values))


SOURCE = """kernel f(q, k: [B, T, H, D], v: [B, T, H, E], g: f32[B, T, H]) -> RESULT {
  kc, vc = pool(k, 8, 4), pool(v, 8, 4);
  cmp = attend(q, kc, vc) where end(j) <= i;
  sel = topk(blocks(prob(cmp), 16), 4) keep last 1;
  slc = attend(q, k, v) in sel where j <= i;
  return BODY;
}"""
OUT = "[B, T, H, E]"


@pytest.mark.parametrize("result, body, repeats", [
    (OUT, "g * cmp + slc", True),
    (OUT, "merge(cmp, slc)", True),
    (OUT, "slc", True),
    # A list is a result, and so is elementwise code with it, behind the loop.
    (f"(o: {OUT}, i: i32[B, T, H, 4])", "cmp + slc, indices(sel)", True),
    (f"(o: {OUT}, i: i32[B, T, H, 4], j: i32[B, T, H, 4])",
     "cmp + slc, indices(sel), 2 * indices(sel) + 1", True),
    # Results of a whole call: log-sum-exps, and outputs that no other attention contributes to.
    (f"(o: {OUT}, l: f32[B, T, H])", "cmp + slc, lse(cmp)", False),
    (OUT, "g * cmp", False),
    # Pooling reads other tokens', and neighbours share a list.
    (OUT, "slc + attend(q, pool(k, 4), pool(cmp, 4)) where end(j) <= i", False),
    (OUT, "cmp + (attend(q, k, v) in topk(blocks(prob(cmp), 16), 3) share tokens 4 by max)",
     False)])
def test_who_reads_the_results(result, body, repeats):
    source = SOURCE.replace("RESULT", result).replace("BODY", body)
    names = [name for name in ("slc", "sel") if "slc" in body]
    schedule = "; ".join(["cmp: program=own, tokens=2", *(f"{name}: tokens=2" for name in names)])
    whole, cut = (nsacc.compile(source, target="cpu", dtype="f32",
                                schedule=f"{schedule}; chunk={chunk}") for chunk in (65536, 1))
    assert ("nsatile.repeat" in cut.ir("tile", H=64, D=8, E=CHANNELS)) == repeats
    values = inputs(2, 70, (64, 64))[:4]
    expected, found = whole(*values), cut(*values)
    for left, right in zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]:
        assert torch.equal(left, right)
