"""Decoding over pages that lists name: any page size and group, lists of any width."""

from __future__ import annotations

import pytest
import torch

import nsacc
from programs import EXAMPLES, TARGET, to_device

PAGED = EXAMPLES / "paged_decode.nsa"


def draw(page: int, group: int, listed: int, tokens: int = 1, batch: int = 3):
    """Lists in any order, with some pages twice; one is empty, one has one page."""
    generator = torch.Generator().manual_seed(page * group)
    pages = max(-(-1100 // page), 3)
    heads = 2
    q, k, v = (torch.randn(batch, length, number, 64, generator=generator).to(torch.bfloat16)
               for length, number in ((tokens, heads * group), (pages * page - page // 2, heads),
                                      (pages * page - page // 2, heads)))
    table = torch.stack([torch.randperm(pages, generator=generator)
                         for _ in range(batch * tokens * heads)])
    table = table.repeat(1, -(-listed // pages))[:, :listed].view(batch, tokens, heads, listed)
    table[:, :, :, 1::7] = -1
    table[:, :, :, 3::5] = table[:, :, :, 2:3]
    table[-1] = -1
    table[-2, ..., 1:] = -1
    filled = torch.randint(0, page + 1, (batch, pages), generator=generator)
    return q, k, v, table.int(), filled.int()


def attend(q, k, v, table, filled, page):
    """The program's formula, in f64."""
    batch, tokens, heads, channels = q.shape
    group = heads // k.shape[2]
    keys = torch.arange(k.shape[1])
    out = torch.zeros(q.shape, dtype=torch.float64)
    for b in range(batch):
        there = keys % page < filled[b, keys // page]
        for t in range(tokens):
            for h in range(heads):
                listed = torch.isin(keys // page, table[b, t, h // group])
                seen = (there & listed).nonzero()[:, 0]
                scores = k[b, seen, h // group].double() @ q[b, t, h].double() / channels ** 0.5
                out[b, t, h] = scores.softmax(0) @ v[b, seen, h // group].double()
    return out


def check(page, group, listed, tokens=1, target=TARGET, **options):
    inputs = draw(page, group, listed, tokens)
    program = nsacc.compile(PAGED, page=page, pages=listed, target=target, **options)
    out = program(*to_device(list(inputs))).cpu().double()
    assert torch.allclose(out, attend(*inputs, page), atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("group", [1, 3, 4, 8, 16, 80])
@pytest.mark.parametrize("page", [1, 8, 16, 48, 64, 256])
def test_pages(page, group, target):
    check(page, group, listed=max(1100 // page, 2), target=target)


@pytest.mark.parametrize("tokens", [2, 5, 33])
@pytest.mark.parametrize("page", [16, 256])
def test_several_tokens(page, tokens):
    check(page, 4, listed=1100 // page, tokens=tokens)


@pytest.mark.parametrize("listed", [2048, 2049, 9000])
def test_wide_lists(listed):
    check(16, 4, listed)


@pytest.mark.parametrize("schedule", ["splits=1", "splits=3", "splits=64", "keys=16", "stages=1",
                                      "blocks_per_sm=1", "splits=5, keys=128"])
@pytest.mark.parametrize("page", [16, 64, 256])
def test_schedules(page, schedule):
    check(page, 8, listed=1100 // page, schedule=schedule)


def test_wrong_page_is_named():
    q, k, v, table, filled = draw(16, 4, 3000)
    table[1, 0, 1, 2500] = 1000
    program = nsacc.compile(PAGED, page=16, pages=3000, target=TARGET)
    with pytest.raises(nsacc.errors.ArgumentError, match=r"'table' at \[1, 0, 1, 2500\] is 1000"):
        program(*to_device([q, k, v, table, filled]))
        torch.cuda.synchronize()
        program.check()
