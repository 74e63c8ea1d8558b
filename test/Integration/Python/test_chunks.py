"""States of inverted selections stand in memory in chunks (order=key_major, chunk=MiB): for any
size of a chunk, results have the same bits as with all states at once. GPUs are in
test_inverted.py."""

from __future__ import annotations

import pytest
import torch

import nsacc
from harness import EXAMPLES

WHOLE = "order=key_major"
TOP = 3


def inputs(batch: int, tokens: int, heads: tuple[int, int], dtype: torch.dtype, block: int = 256):
    generator = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn(batch, tokens, number, 32, generator=generator).to(dtype)
               for number in (heads[0], heads[1], heads[1]))
    blocks = -(-tokens // block)
    idx = torch.rand(batch, tokens, heads[1], max(blocks, TOP), generator=generator)
    idx = idx.argsort(-1)[..., :TOP]
    return q, k, v, torch.where(idx < blocks, idx, -1).to(torch.int32)


def compile_sparse(schedule: str, dtype: torch.dtype, block: int = 256) -> nsacc.Program:
    return nsacc.compile(EXAMPLES / "block_sparse.nsa", target="cpu", schedule=schedule,
                         dtype={torch.bfloat16: "bf16", torch.float32: "f32"}[dtype],
                         params={"block": block, "top": TOP})


def state_bytes(heads: int, tokens: int, dtype: torch.dtype, batch: int = 1) -> int:
    return batch * heads * tokens * TOP * (2 * 32 + 12 if dtype == torch.bfloat16 else 4 * 32 + 8)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("batch, tokens, heads", [
    (9, 1000, (4, 4)),  # some batch rows, fewer in the last slice
    (2, 2500, (6, 6)),  # some heads
    (1, 5000, (8, 1)),  # some tokens of a group of heads, the last time fewer
    (1, 5121, (12, 2)), (3, 1024, (4, 2)), (2, 0, (2, 1)), (0, 100, (2, 1)), (2, 1, (2, 2))])
def test_results_are_the_same_bits(batch, tokens, heads, dtype):
    values = inputs(batch, tokens, heads, dtype)
    whole, all_states = compile_sparse(WHOLE, dtype).run_timed(values)
    for chunk in (1, 2, 3):
        found, timing = compile_sparse(f"{WHOLE}, chunk={chunk}", dtype).run_timed(values)
        assert torch.equal(found, whole)
        # The smallest slice is 1024 tokens of one key head.
        most = max(chunk << 20, state_bytes(heads[0] // heads[1], min(tokens, 1024), dtype))
        spared = state_bytes(heads[0], tokens, dtype, batch) - most
        assert timing.workspace_bytes <= all_states.workspace_bytes - 0.9 * max(spared, 0)


@pytest.mark.parametrize("tokens", ["tokens=24; *.merge: tokens=5", "tokens=48; *.merge: tokens=48",
                                    "tokens=7; *.merge: tokens=1", "tokens=64; *.merge: tokens=9"])
def test_chunks_begin_with_tiles(tokens):
    values = inputs(1, 12000, (4, 2), torch.float32)
    whole = compile_sparse(f"{WHOLE}, {tokens}", torch.float32)(*values)
    assert torch.equal(compile_sparse(f"{WHOLE}, chunk=1, {tokens}", torch.float32)(*values), whole)


def test_selections_of_query_heads():
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 1500, heads, 32, generator=generator) for heads in (6, 2, 2))
    whole, cut = (nsacc.compile(EXAMPLES / "moba.nsa", target="cpu", dtype="f32", params={"top": 5},
                                schedule=f"attend.1: order=key_major{chunk}")
                  for chunk in ("", ", chunk=1"))
    assert torch.equal(whole(q, k, v), cut(q, k, v))


def test_other_attentions_of_the_program():
    """A program that computes other attentions, too, reads all states at once."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(2, 1300, heads, 32, generator=generator) for heads in (8, 2, 2))
    gates = [torch.rand(2, 1300, 8, generator=generator) for _ in range(3)]
    whole, cut = (nsacc.compile(EXAMPLES / "nsa.nsa", target="cpu", dtype="f32", params={"top": 5},
                                schedule=f"slc: order=key_major{chunk}")
                  for chunk in ("", ", chunk=1"))
    assert torch.equal(whole(q, k, v, *gates), cut(q, k, v, *gates))


def compile_given(rows: str, lists: str, schedule: str) -> nsacc.Program:
    """Lists of dimensions `lists`, which four neighbours share where that isn't of `rows`."""
    tokens = "" if lists.startswith(rows) else ", tokens=4"
    source = f"""kernel f(q: [{rows}, HQ, D], k, v: [{rows}, H, D], idx: i32[{lists}, 3])
        -> [{rows}, HQ, D] {{
      return attend(q, k, v) in selection(idx, 256{tokens}) where j <= i;
    }}"""
    return nsacc.compile(source, target="cpu", dtype="f32", schedule=schedule)


@pytest.mark.parametrize("lists, shape", [("B, T, HQ", (2000, 6)), ("B, T, 1", (2000, 1)),
                                          ("B, M, H", (500, 2))])
def test_lists_of_heads_and_of_tokens(lists, shape):
    q, k, v, _ = inputs(2, 2000, (6, 2), torch.float32)
    idx = torch.randint(-1, 8, (2, *shape, 3), generator=torch.Generator().manual_seed(4))
    whole, cut = (compile_given("B, T", lists, WHOLE + chunk) for chunk in ("", ", chunk=1"))
    values = q, k, v, idx.to(torch.int32)
    assert torch.equal(whole(*values), cut(*values))


def test_heads_of_ragged_rows():
    q, k, v, idx = (each[0] for each in inputs(1, 3000, (6, 6), torch.float32))
    offsets = torch.tensor([0, 700, 701, 701, 2048, 3000], dtype=torch.int32)
    idx = idx % 1
    values = {"q": q, "k": k, "v": v, "idx": idx, "T_offsets": offsets}
    values["idx"][700:701] = -1
    whole, cut = (compile_given("ragged T", "ragged T, H", WHOLE + chunk)
                  for chunk in ("", ", chunk=1"))
    expected, all_states = whole.run_timed(values)
    found, timing = cut.run_timed(values)
    assert torch.equal(found, expected)
    assert timing.workspace_bytes < all_states.workspace_bytes / 2


SOURCE = """kernel f(q, k, v: [B, T, H, D], idx: i32[B, T, H, 3]) -> RESULT {
  sel = selection(idx, 256);
  a = attend(q, k, v) in sel where j <= i;
  BODY
}"""


@pytest.mark.parametrize("result, body, repeats", [
    ("(o: [B, T, H, D], l: f32[B, T, H])", "return a, lse(a);", True),
    ("f32[B, T, H]", "return lse(a);", True),
    # Pooling reads the result from memory, as another program does then.
    ("[B, T, H, D]", "c = attend(q, pool(k, 4), pool(a, 4)) where end(j) <= i; return c + a;",
     True),
    # The value that it reads is no result: two programs merge.
    ("[B, T, H, D]", "c = attend(q, pool(k, 4), pool(2 * a, 4)) where end(j) <= i; return a + c;",
     False),
    # Two attentions of one program.
    ("[B, T, H, D]", "c = attend(q, k, v) in sel where j < i; return a + c;", False)])
def test_who_reads_the_states(result, body, repeats):
    source = SOURCE.replace("RESULT", result).replace("BODY", body)
    values = inputs(2, 3000, (2, 2), torch.float32)
    selected = [f"{name}: order=key_major" for name in ("a", "c")
                if f"{name} = attend(q, k, v) in" in source]
    whole, cut = (nsacc.compile(source, target="cpu", dtype="f32",
                                schedule="; ".join(each + chunk for each in selected))
                  for chunk in ("", ", chunk=1"))
    assert ("nsatile.repeat" in cut.ir("tile", H=2, D=32)) == repeats
    expected, found = whole(*values), cut(*values)
    for left, right in zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]:
        assert torch.equal(left, right)
