"""Programs as operators of torch, and quick calls, on GPUs."""

import pytest
import torch

import nsacc
import nsacc.torch
from nsacc.errors import ArgumentError
from programs import compile_example, make_inputs, run, to_device

# Inductor uses a separate compiler for a GPU, which reports a failure with another message.
BACKENDS = ["aot_eager", "inductor"]


@pytest.fixture(name="flash")
def flash_program():
    return compile_example("flash")


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch._dynamo.reset()
    yield


def test_calls_are_quick(flash):
    inputs = tuple(to_device(make_inputs("flash", 300)))
    results = flash._call_quickly(inputs)
    assert results is not None
    for result, wanted in zip(results, flash.run(list(inputs))):
        assert result.device == inputs[0].device and torch.equal(result, wanted)


def test_opcheck(flash):
    torch.library.opcheck(nsacc.torch.op(flash).overload, to_device(make_inputs("flash", 37)))


def test_numbers_get_there():
    program = nsacc.compile("""kernel scaled(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],
    z: f32) -> [B, T, HQ, DV] { return attend(q, k, v) where j <= i scale z; }""", target="cuda")
    q, k, v = to_device(make_inputs("flash", 70))
    op = nsacc.torch.op(program)
    expected = program(q, k, v, torch.tensor(0.25, device="cuda"))
    assert torch.equal(program._call_quickly((q, k, v, 0.25)), expected)
    assert torch.equal(op(q, k, v, 0.25), expected)
    assert torch.equal(op(q, k, v, torch.tensor(0.25, device="cuda")), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled(flash, backend):
    compiled = torch.compile(lambda q, k, v: flash(q * 2, k, v)[0] + 1, fullgraph=True,
                             dynamic=True, backend=backend)
    for tokens in (300, 127, 513):
        q, k, v = to_device(make_inputs("flash", tokens))
        assert torch.equal(compiled(q, k, v), flash(q * 2, k, v)[0] + 1)


@pytest.mark.parametrize("call", ["op", "compiled"])
def test_graphs(flash, call):
    """Names of torch's kernels, and of kernels that torch.compile makes."""
    inputs = to_device(make_inputs("flash", 300))
    function = nsacc.torch.op(flash)
    if call == "compiled":
        function = torch.compile(function, fullgraph=True)
    function(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function(*inputs)[0]
    for seed in range(3):
        for to, new in zip(inputs, make_inputs("flash", 300, seed)):
            to.copy_(new)
        graph.replay()
        assert torch.equal(out, run(flash, inputs))


def test_reduced_overhead(flash):
    compiled = torch.compile(lambda q, k, v: flash(q * 2, k, v)[0] + 1, fullgraph=True,
                             mode="reduce-overhead")
    q, k, v = to_device(make_inputs("flash", 300))
    for seed in range(5):
        q.copy_(make_inputs("flash", 300, seed)[0])
        assert torch.equal(compiled(q, k, v).clone(), flash(q * 2, k, v)[0] + 1)


def test_side_streams(flash):
    """The run is on the current stream: after earlier work on the stream, and before later work."""
    inputs = to_device(make_inputs("flash", 300))
    expected, op = run(flash, inputs), nsacc.torch.op(flash)
    torch.cuda.synchronize()
    for function in (flash, op, op.overload):
        late = [torch.zeros_like(one) for one in inputs]
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            for to, new in zip(late, inputs):
                to.copy_(new)
            out = function(*late)[0]
            doubled = out * 2
        # Memory of torch's allocator, which can be told about another stream.
        doubled.record_stream(torch.cuda.current_stream())
        out.record_stream(torch.cuda.current_stream())
        torch.cuda.current_stream().wait_stream(side)
        assert torch.equal(doubled, expected * 2)


def test_other_devices(flash):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    inputs = to_device(make_inputs("flash", 300))
    expected = run(flash, inputs).cpu()
    there = [one.to("cuda:1") for one in inputs]
    op = nsacc.torch.op(flash)
    compiled = torch.compile(op, fullgraph=True, backend="aot_eager")
    # The current device is the first one, then theirs.
    for device in (0, 1):
        with torch.cuda.device(device):
            for function in (flash, op, compiled):
                out = function(*there)[0]
                assert out.device == torch.device("cuda:1")
                assert torch.equal(out.cpu(), expected)
    with pytest.raises(ArgumentError, match="on different devices"):
        op(there[0], *inputs[1:])


def test_inputs_on_two_kinds_of_devices(flash):
    q, k, v = make_inputs("flash", 30)
    for function in (flash, nsacc.torch.op(flash)):
        with pytest.raises(ArgumentError, match="'q' on cuda:0, 'k' on the host"):
            function(q.cuda(), k, v)
