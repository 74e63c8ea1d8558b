"""Masks and biases of papers and mask libraries, and integers that need 64 bits, on the GPU."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest
import torch

import nsacc
from oracle import find_wrong_rows
from programs import DTYPES, TARGET, to_device
from waiting import wait

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
import buckets  # noqa: E402
import masks  # noqa: E402

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], n: i64[S], m: i32[S]"
WRAPPED = {
    "factor": "where (i - j) * 1152921504606846976 > 0",
    "literal": "where i + 9223372036854775807 >= j",
    "hash": "where (i * 2654435761 + j * 40503) mod 7 == 0",
    "long hash": "where (i * 7046029254386353131 floordiv 3 - j) mod 5 != 2",
    "powers": "where (i * i * i * i * i * i * i * i + j) mod 3 != 1",
    "32 bits": "where i * 1000003 * 1009 + j * 65537 * 65539 > 0",
    "bound": "where j * 100003 <= i * 100000 + 5",
    "bounds beyond 32 bits": "where j <= i and j < 2147483648 and not (3000000000 <= j)",
    "difference beyond 32 bits": "where i + 1099511627776 > j and i - 3000000000 <= j <= i",
    "sums of a row": "where j <= i and t + T < 16777216 or b * 3 + t >= 100000000",
    "table of 64 bits": "where j < n[i] or n[j] - n[i] == 4294967296",
    "table of 32 bits": "where m[j] < m[i] or m[i] - m[j] > 3000000000",
    "score": "where j <= i score s + float(i * j * 1000003) / 5.0e9",
    "weight": "where j <= i weight s * float((i * 3000000019 + j) mod 5)",
}


@functools.cache
def compiled(source: str, target: str, name: str | None = None) -> nsacc.Program:
    return nsacc.compile(source if name is None else masks.FILE, kernel=name, target=target,
                         dtype="bf16")


def check(source: str, target: str, inputs, name: str | None = None) -> None:
    expected = compiled(source, "oracle", name).run(inputs, f64_results=True, round_storage=True)
    actual = compiled(source, target, name)(*to_device(inputs))
    wait(name or source)
    wrong = find_wrong_rows(actual.cpu(), expected, False)
    assert not wrong.any(), f"{int(wrong.sum())} of {wrong.numel()} rows are wrong"


def to_torch(arrays) -> list[torch.Tensor]:
    tensors = [torch.from_numpy(array).contiguous() for array in arrays]
    return [each.bfloat16() if index < 3 else each for index, each in enumerate(tensors)]


@pytest.mark.parametrize("target", dict.fromkeys((TARGET, "sm_80")))
@pytest.mark.parametrize("name", masks.NAMES)
def test_agrees_with_the_oracle(name, target):
    signature = compiled("", "oracle", name).signature
    for queries, tokens in [(1, 65), (33, 33), (129, 197)]:
        inputs = masks.make_inputs(signature, queries, tokens, group=2, width=64)
        check("", target, to_torch(inputs), name)


@pytest.mark.parametrize("target", dict.fromkeys((TARGET, "sm_80")))
@pytest.mark.parametrize("name", ["causal_offsets", "prefix_lm_scalar", "key_padding",
                                  "key_padding_long", "left_padding", "query_padding"])
def test_lengths_beyond_all_sizes(name, target):
    signature = compiled("", "oracle", name).signature
    wide = signature.inputs[-1].dtype == "i64"
    for limit in [-2**31, -2**29 - 1, 2**29, 2**31 - 1, *([-2**63, 2**32 + 3] if wide else [])]:
        inputs = masks.make_inputs(signature, 70, 133, group=2, width=64)
        inputs[-1].fill(limit)
        check("", target, to_torch(inputs), name)


@pytest.mark.parametrize("target", dict.fromkeys((TARGET, "sm_80")))
@pytest.mark.parametrize("clauses", WRAPPED)
def test_integers_have_64_bits(clauses, target):
    source = (f"kernel f({HEAD}) -> [B, T, HQ, DV] "
              f"{{ return attend(q, k, v) {WRAPPED[clauses]}; }}")
    generator = torch.Generator().manual_seed(0)
    for queries, tokens in [(1, 65), (129, 197)]:
        shapes = [(1, queries, 4, 64), (1, tokens, 2, 64), (1, tokens, 2, 64)]
        inputs = [torch.randn(shape, generator=generator).bfloat16() for shape in shapes]
        spread = torch.arange(tokens) % 5 - 2
        inputs += [spread * 2**32 + 1, (spread * 2**30).clamp(max=2**31 - 1).int()]
        check(source, target, inputs)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_buckets_are_the_published_ones(bidirectional, dtype):
    """Each is next to a jump of floor(log(…)): an error of one ulp gives another bucket."""
    tokens = 200
    program = nsacc.compile(buckets.t5_program(bidirectional), target=TARGET, dtype=dtype)
    values = torch.eye(tokens)[None, :, None]
    qk = torch.zeros(1, tokens, 1, 16)
    found = program(*to_device([each.to(DTYPES[dtype]) for each in (qk, qk, values)]))
    wait("buckets")
    assert torch.equal(found[0, :, 0].cpu().long(), buckets.t5_table(tokens, bidirectional))
