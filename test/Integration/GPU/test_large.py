"""Tensors of more than 2^31 elements, checked where offsets need the 32nd bit and more."""

from __future__ import annotations

import pytest
import torch

from oracle import find_wrong_rows, run_oracle
from programs import Case, run_all
from waiting import wait

GIB = 2**30
WIDE = 2**31


def random(*shape: int) -> torch.Tensor:
    generator = torch.Generator("cuda:0").manual_seed(len(shape))
    return torch.empty(shape, dtype=torch.bfloat16, device="cuda:0").normal_(generator=generator)


@pytest.fixture(autouse=True)
def room():
    """Bytes of four large tensors, and a copy of one."""
    torch.cuda.empty_cache()
    free = torch.cuda.mem_get_info()[0] / GIB
    if free < 24:
        pytest.skip(f"needs 24 GiB of the GPU's memory, {free:.1f} are free")
    yield
    torch.cuda.empty_cache()


def check_rows(case: Case, inputs: list[torch.Tensor], results: tuple[torch.Tensor, ...],
               row: int, tokens: slice, head: int) -> None:
    """Some tokens of a batch row and key head, by the oracle: they are the last of its keys."""
    group = case.heads[0] // case.heads[1]
    heads = slice(head * group, (head + 1) * group)
    q = inputs[0][row:row + 1, tokens, heads].cpu()
    k, v = (each[row:row + 1, :tokens.stop, head:head + 1].cpu() for each in inputs[1:3])
    expected = run_oracle(case, [q, k, v, *(each[heads].cpu() for each in inputs[3:])])
    for spec, actual, exact in zip(case.program().signature.results, results, expected):
        part = actual[row:row + 1, tokens, heads].cpu()
        wrong = find_wrong_rows(part, exact, spec.name == "lse")
        assert not wrong.any(), f"{spec.name}, row {row}, {tokens}, head {head}"


def run_large(case: Case, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    assert inputs[0].numel() > WIDE
    results = run_all(case.program(), inputs)
    wait(case)
    return results


FEW_KEYS = Case("flash", heads=(32, 4), channels=(128, 128))


@pytest.mark.parametrize("case", [FEW_KEYS, Case("flash", heads=(32, 4), channels=(128, 128),
                                                 target="sm_80")], ids=str)
def test_batches(case):
    batch, tokens = 2**11 + 3, 257
    inputs = [random(batch, tokens, heads, 128) for heads in (32, 4, 4)]
    results = run_large(case, inputs)
    for row in (0, 1024, 2040, batch - 1):
        check_rows(case, inputs, results, row, slice(0, 257), 3)


@pytest.mark.parametrize("case", [
    Case("band", heads=(128, 128), channels=(128, 128)),
    Case("window_sink", heads=(128, 128), channels=(128, 128)),
    Case("band", heads=(128, 128), channels=(128, 128), target="sm_80")], ids=str)
@pytest.mark.parametrize("heads_first", [False, True])
def test_tokens_and_heads(case, heads_first):
    """Queries, keys, values and results are large, as [T, H, D] and as [H, T, D] in memory."""
    tokens = 2**17 + 70
    shape = (1, 128, tokens, 128) if heads_first else (1, tokens, 128, 128)
    inputs = [random(*shape) for _ in range(3)]
    if heads_first:
        inputs = [each.transpose(1, 2) for each in inputs]
    if case.name == "window_sink":
        inputs.append(torch.linspace(-1, 1, 128, device="cuda:0"))
    results = run_large(case, inputs)
    for first, last in [(0, 40), (2**16 - 7, 2**16 + 9), (2**17 - 5, 2**17 + 5),
                        (tokens - 33, tokens)]:
        for head in (0, 63, 127):
            check_rows(case, inputs, results, 0, slice(first, last), head)


def test_packed_rows():
    """A ragged batch of one head; the last rows are beyond 2^31 elements."""
    case = Case("ragged_band", heads=(1, 1), channels=(128, 128))
    lengths = [2**20] * 2**4 + [300, 0, 129]
    ends = torch.tensor([0, *lengths]).cumsum(0)
    inputs = [random(int(ends[-1]), 1, 128) for _ in range(3)]
    offsets = ends.to(torch.int32).cuda()
    results = run_large(case, [*inputs, offsets, offsets])
    for row, tokens in [(0, slice(0, 50)), (7, slice(1000, 1030)), (15, slice(2**20 - 30, 2**20)),
                        (16, slice(0, 300)), (18, slice(0, 129))]:
        start = int(ends[row])
        own = [each[None, start:start + lengths[row]] for each in inputs]
        parts = tuple(each[None, start:start + lengths[row]] for each in results)
        check_rows(Case("band", heads=(1, 1), channels=(128, 128)), own, parts, 0, tokens, 0)
