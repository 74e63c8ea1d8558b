"""Streams, graphs, threads, devices, and unusual tensors."""

import threading
import time

import pytest
import torch

import nsacc
from nsacc.errors import ArgumentError
from programs import compile_example, make_inputs, run, to_device


@pytest.fixture(name="flash")
def flash_program():
    return compile_example("flash")


def test_side_streams(flash):
    inputs = to_device(make_inputs("flash", 300))
    expected = run(flash, inputs)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        result = run(flash, inputs)
    explicit = flash.run(inputs, stream=side)
    side.synchronize()
    assert torch.equal(result, expected)
    assert torch.equal(explicit[0] if isinstance(explicit, tuple) else explicit, expected)


@pytest.mark.parametrize("name", ["flash", "nsa"])
def test_graphs(name):
    program = compile_example(name)
    inputs = to_device(make_inputs(name, 300))
    run(program, inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run(program, inputs)
    for seed in range(3):
        for to, new in zip(inputs, make_inputs(name, 300, seed)):
            to.copy_(new)
        graph.replay()
        assert torch.equal(result, run(program, inputs))


RAGGED = """kernel ragged_rows(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV])
    -> [ragged T, HQ, DV] { return attend(q, k, v) where j <= i; }"""
PAGES = """kernel cached(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],
    table: i32[B, T, 1, 4], at: i32[B, T], pos: i32[B, S]) -> [B, T, HQ, DV]
    { return attend(q, k, v) in selection(table, 16) where 0 <= pos[b, j] <= at[b, t]; }"""


def make_ragged_inputs(seed):
    """Three rows of 60 queries and 300 keys in all, with lengths that depend on the seed."""
    torch.manual_seed(seed)
    tensors = [torch.randn(n, heads, 64) for n, heads in ((60, 8), (300, 2), (300, 2))]
    offsets = [torch.tensor([0, 7 + seed, 40, 60], dtype=torch.int32),
               torch.tensor([0, 50, 200 - 9 * seed, 300], dtype=torch.int32)]
    return to_device([*(one.bfloat16() for one in tensors), *offsets])


def make_paged_inputs(seed):
    """Keys and values of a cache [pages, 2, page, heads, channels], by views."""
    torch.manual_seed(seed)
    both = torch.randn(1, 12 * 2 * 16, 2, 64).bfloat16().cuda()
    k, v = both[:, :-16], both[:, 16:]
    table = 2 * torch.stack([torch.randperm(12)[:4] for _ in range(3)]).int()
    at = torch.randint(0, 64, (1, 3), dtype=torch.int32)
    pos = torch.randint(-1, 64, (1, k.shape[1]), dtype=torch.int32)
    return [torch.randn(1, 3, 8, 64).bfloat16().cuda(), k, v,
            *to_device([table[None, :, None].contiguous(), at, pos])]


@pytest.mark.parametrize("text, make", [(RAGGED, make_ragged_inputs), (PAGES, make_paged_inputs)],
                         ids=["ragged", "pages"])
def test_graphs_read_tables_at_each_replay(text, make):
    program = nsacc.compile(text, target="cuda")
    inputs = make(0)
    program(*inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = program(*inputs)
    for seed in range(3):
        for to, new in zip(inputs, make(seed)):
            to.copy_(new)
        graph.replay()
        expected = program(*inputs)
        assert torch.equal(result, expected)
        oracle = nsacc.compile(text, target="oracle")(*(one.cpu() for one in inputs))
        torch.testing.assert_close(expected.cpu(), oracle, atol=2e-2, rtol=2e-2)


def test_threads(flash):
    inputs = [to_device(make_inputs("flash", 100 + 30 * i, i)) for i in range(8)]
    expected = [run(flash, each) for each in inputs]
    wrong = []

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                if not torch.equal(run(flash, inputs[index]), expected[index]):
                    wrong.append(index)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs a second GPU")
def test_second_device(flash):
    inputs = make_inputs("flash", 300)
    expected = run(flash, to_device(inputs)).cpu()
    # The run works whichever device is torch's current one.
    for current in range(2):
        for device in range(2):
            with torch.cuda.device(current):
                there = run(flash, to_device(inputs, f"cuda:{device}"))
            assert there.device.index == device
            assert torch.equal(there.cpu(), expected)


def test_host_tensors(flash):
    inputs = make_inputs("flash", 100)
    result = run(flash, inputs)
    assert result.device.type == "cpu"
    assert torch.equal(result, run(flash, to_device(inputs)).cpu())


def test_other_strides(flash):
    inputs = to_device(make_inputs("flash", 100))
    expected = run(flash, inputs)
    # Tensors [B, H, T, D] in memory, as in many models.
    swapped = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in inputs]
    assert torch.equal(run(flash, swapped), expected)


def test_misaligned_inputs_are_right_or_refused(flash):
    inputs = to_device(make_inputs("flash", 100))
    expected = run(flash, inputs)
    for index, each in enumerate(inputs):
        storage = torch.empty(each.numel() + 1, dtype=each.dtype, device=each.device)
        moved = storage[1:].view(each.shape)
        moved.copy_(each)
        try:
            result = run(flash, [*inputs[:index], moved, *inputs[index + 1:]])
        except ArgumentError as error:
            assert f"'{flash.signature.inputs[index].name}'" in str(error)
        else:
            assert torch.equal(result, expected)


def test_mixed_devices_are_refused(flash):
    host = make_inputs("flash", 100)
    with pytest.raises(ArgumentError, match="different devices"):
        flash(host[0], *to_device(host[1:]))


def test_numbers_go_to_the_device():
    scale = nsacc.compile("kernel f(x: f32[N], a: f32[]) -> f32[N] { return x * a; }",
                          target="cuda")
    x = torch.randn(1000, device="cuda:0")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    assert torch.equal(run(scale, [x, 3.0]), 3 * x)
    result = scale.run((x, 3.0), stream=side)
    side.synchronize()
    assert torch.equal(result, 3 * x)


@pytest.mark.parametrize("target", ["cuda", "sm_80"])
def test_many_failures_at_once(target):
    """Every query in front of the first key reads outside; the first of them is reported, soon."""
    program = nsacc.compile(
        "kernel f(q: f32[B, T, H, D], k: f32[B, S, H, D], doc: i32[B, S]) -> f32[B, T, H, D] "
        "{ return attend(q, k, k) where doc[b, i] == doc[b, j] and j <= i; }", target=target)
    q = torch.randn(2, 1000, 4, 64, device="cuda:0")
    k = torch.randn(2, 127, 4, 64, device="cuda:0")
    doc = torch.zeros(2, 127, dtype=torch.int32, device="cuda:0")
    start = time.monotonic()
    run(program, [q, k, doc])
    torch.cuda.synchronize()
    assert time.monotonic() - start < 30
    with pytest.raises(ArgumentError, match=r"'doc' is read at \[0, -873\].* t = 0, i = -873"):
        run(program, [q, k, doc])


def test_runs_that_fail_are_told():
    program = nsacc.compile(
        "kernel f(q: f32[B, T, H, D], k: f32[B, S, H, D], v: f32[B, S, H, D], at: i32[T]) "
        "-> f32[B, T, H, D] { return attend(q, k, v) where j <= i score s + at[j + 5]; }",
        target="cuda")
    q = torch.randn(1, 16, 2, 64, device="cuda:0")
    table = torch.zeros(16, dtype=torch.int32, device="cuda:0")
    run(program, [q, q, q, table])
    torch.cuda.synchronize()
    with pytest.raises(ArgumentError, match="'at' is read at .* t = 11, i = 11, j = 11"):
        program.check()
    program.check()


@pytest.mark.parametrize("place", [(0, 0, 0), (1, 8, 1), (1, 9, 0), (0, 5, 1)])
def test_counts_of_all_who_share_are_looked_at(place):
    program = nsacc.compile(
        "kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D], n: i32[B, T, H]) -> f32[B, T, HQ, D] "
        "{ return attend(q, k, k) in (topk(prob(attend(q, pool(k, 16))), 4) "
        "count n share tokens 4 share heads 2); }", target="cuda")
    q = torch.randn(2, 10, 4, 64, device="cuda:0")
    k = torch.randn(2, 127, 2, 64, device="cuda:0")
    counts = torch.full((2, 10, 2), 3, dtype=torch.int32, device="cuda:0")
    run(program, [q, k, counts])
    counts[place] = 7
    run(program, [q, k, counts])
    torch.cuda.synchronize()
    with pytest.raises(ArgumentError, match=rf"'n' at \[{', '.join(map(str, place))}\] is 7"):
        program.check()
