"""One of two processes of test_torch_distributed.py: makes calls with DTensors over gloo."""

from __future__ import annotations

import re
import sys

import torch
import torch.distributed
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)

import nsacc
import nsacc.torch
from nsacc.errors import ArgumentError

FLASH = """kernel flash(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], a: f32[HQ], z: f32)
    -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ])
{ x = attend(q, k, v) where j <= i score s + a[h] * (j - i) scale z; return x, lse(x); }"""
NUMBERED = FLASH.replace("a[h]", "(a[h] + h)")
SLOPED = FLASH.replace("a[h]", "a[h] * exp2(-8 * (h + 1) / HQ)")
SHARED = """kernel shared(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV]
{ x = attend(q, pool(k, 4), pool(v, 4)) where end(j) <= i + 1;
  sel = topk(blocks(prob(x), 4), 1) share heads 2;
  return attend(q, k, v) in sel where j <= i; }"""
ONE_KEY_HEAD = FLASH.replace("S, H,", "S, 1,")
PLAIN = """kernel plain(q: [B, T, H, D], k: [B, S, H, D]) -> [B, T, H, D]
{ return attend(q, k, k) where j <= i; }"""
CUT = {"batch": (Shard(0), Shard(0), Shard(0), Replicate()),
       "heads": (Shard(2), Shard(2), Shard(2), Shard(0)),
       "none": (Replicate(),) * 4}


def compile(source):
    return nsacc.compile(source, dtype="f32")


def make_inputs(batch=3, query_heads=4, key_heads=2):
    torch.manual_seed(5)
    return (torch.randn(batch, 7, query_heads, 8), torch.randn(batch, 9, key_heads, 8),
            torch.randn(batch, 9, key_heads, 4), torch.rand(query_heads))


def distribute(mesh, inputs, placements):
    return [distribute_tensor(one, mesh, [where]) for one, where in zip(inputs, placements)]


def check_results(mesh):
    program, inputs = compile(FLASH), make_inputs()
    expected = program(*inputs, 0.3)
    compiled = torch.compile(lambda *inputs: program(*inputs), backend="aot_eager", dynamic=True,
                             fullgraph=True)
    for placements in CUT.values():
        given = distribute(mesh, inputs, placements)
        for call in (program, nsacc.torch.op(program), compiled):
            results = call(*given, 0.3)
            assert type(results) is type(expected)
            for result, wanted in zip(results, expected):
                assert result.placements == (placements[0],), result.placements
                assert result.shape == wanted.shape
                torch.testing.assert_close(result.full_tensor(), wanted)
    with torch.autocast("cpu", torch.bfloat16):
        given = distribute(mesh, inputs, CUT["heads"])
        assert program(*given, 0.3).out.to_local().dtype == torch.bfloat16


def check_heads_that_one_process_lacks(mesh):
    program = compile(PLAIN)
    q, k, _v, _a = make_inputs(query_heads=1, key_heads=1)
    result = program(*distribute(mesh, (q, k), (Shard(2), Shard(2))))
    torch.testing.assert_close(result.full_tensor(), program(q, k))


def check_one_key_head(mesh):
    """Query heads are cut alone."""
    program, inputs = compile(ONE_KEY_HEAD), make_inputs(key_heads=1)
    placements = (Shard(2), Replicate(), Replicate(), Shard(0))
    result = program(*distribute(mesh, inputs, placements), 0.3).out
    assert result.placements == (Shard(2),)
    torch.testing.assert_close(result.full_tensor(), program(*inputs, 0.3).out)


def check_two_dimensions(_mesh):
    """Calls on a mesh of two dimensions that cut different tensor dimensions; one mesh dimension
    has a single process."""
    mesh = init_device_mesh("cpu", (1, 2))
    program, inputs = compile(FLASH), make_inputs()
    given = [distribute_tensor(one, mesh, [batch, heads])
             for one, batch, heads in zip(inputs, CUT["batch"], CUT["heads"])]
    result = program(*given, 0.3).out
    assert result.placements == (Shard(0), Shard(2))
    torch.testing.assert_close(result.full_tensor(), program(*inputs, 0.3).out)


def check_refusals(mesh):
    program, inputs = compile(FLASH), make_inputs()

    def refuse(words, placements, program=program, inputs=inputs, make=None, more=(0.3,)):
        given = [DTensor.from_local(one, mesh, [where]) if where is not None else one
                 for one, where in zip(inputs, placements)]
        if make is None:
            given = [distribute_tensor(one, mesh, [where]) if isinstance(where, Shard) else had
                     for one, had, where in zip(inputs, given, placements)]
        try:
            program(*given, *more)
        except ArgumentError as error:
            assert re.search(words, str(error)), str(error)
        else:
            raise AssertionError(f"not refused: {words}")

    numbered = compile(NUMBERED)
    assert numbered(*distribute(mesh, inputs, CUT["batch"]), 0.3).out.placements == (Shard(0),)
    for text, found in ((NUMBERED, "'h'"), (SLOPED, "'h' and 'HQ'")):
        refuse(f"'q' is cut along dimension 2, HQ: kernel 'flash' computes parts of B apart, not "
               f"of HQ, as {found} in a formula would count a process's own heads alone; hand in "
               fr".* as a table, f32.HQ., (?!.*to_local).*Replicate\(\), or cut inputs along B",
               CUT["heads"], compile(text))
    refuse("B apart, not of HQ, as 'share heads' mixes them. Redistribute", CUT["heads"][:3],
           compile(SHARED), more=())
    refuse(r"along dimension 1, T: .* parts of B or HQ and H apart, not of T. (?!.*to_local)",
           (Shard(1), Shard(1), Shard(1), Replicate()))
    refuse(r"'v' is Replicate\(\) over dimension 0 of its mesh, expected Shard\(0\), as other "
           "inputs are cut along B", (Shard(0), Shard(0), Replicate(), Replicate()))
    refuse(r"'a' is Replicate\(\) .* expected Shard\(0\), as other inputs are cut along HQ and H",
           (Shard(2), Shard(2), Shard(2), Replicate()))
    refuse(r"'k' is Shard\(2\) .* expected Shard\(0\)",
           (Shard(0), Shard(2), Shard(0), Replicate()))
    refuse(r"'q' is Partial\(\) .* expected Shard or Replicate", (Partial(),) * 4)
    for placements, expected in ((CUT["heads"], "Shard(0)"), (CUT["batch"], "Replicate()")):
        refuse(rf"'a' is no DTensor, and other inputs are: .*distribute_tensor\(a, mesh, "
               rf"\[{re.escape(expected)}\]\)", (*placements[:3], None))
    refuse("dimension H is 3, which 2 processes can't have equal parts of, as HQ and H need: cut "
           "over as many", CUT["heads"], inputs=make_inputs(query_heads=6, key_heads=3))
    # Neither of both is to lead to the other.
    for where in (Replicate(), Shard(2)):
        refuse("dimension H is 1, which 2 processes can't .* declare it as 1 in place of H in 'k' "
               "and 'v', which are Replicate.. then: where the program computes parts of HQ apart",
               (Shard(2), where, where, Shard(0)), inputs=make_inputs(key_heads=1))
    try:
        program.run([*distribute(mesh, inputs, CUT["batch"]), 0.3])
    except ArgumentError as error:
        assert "run and run_timed take no DTensors" in str(error)


def check_refusals_under_the_compiler(mesh):
    for text, placements, key_heads, words in (
            (NUMBERED, CUT["heads"], 2, "as 'h' in a formula"),
            (FLASH, (*CUT["heads"][:3], None), 2, r"distribute_tensor\(a, mesh, \[Shard\(0\)\]"),
            (FLASH, (*CUT["heads"][:3], Replicate()), 2, r"expected Shard\(0\).* declares a: f32"),
            (FLASH, CUT["heads"], 1, "declare it as 1 in place of H in 'k' and 'v'")):
        torch._dynamo.reset()
        program, inputs = compile(text), make_inputs(key_heads=key_heads)
        given = [one if where is None else distribute_tensor(one, mesh, [where])
                 for one, where in zip(inputs, placements)]
        compiled = torch.compile(lambda *inputs: program(*inputs), backend="eager",
                                 fullgraph=True)
        try:
            compiled(*given, 0.3)
        except ArgumentError as error:
            assert re.search(words, str(error)), str(error)
        else:
            raise AssertionError(f"not refused: {words}")


def main(rank: int, path: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank,
                                         world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    for check in (check_results, check_heads_that_one_process_lacks, check_one_key_head,
                  check_two_dimensions, check_refusals, check_refusals_under_the_compiler):
        check(mesh)
    torch.distributed.destroy_process_group()


main(int(sys.argv[1]), sys.argv[2])
