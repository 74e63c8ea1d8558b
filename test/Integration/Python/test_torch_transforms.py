"""Parts of torch that watch or transform calls: gradients, dispatch modes and tracers, with calls
of a program and of an operator."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import nsacc.torch  # noqa: E402

SCALED = "kernel scaled(x: f32[N], n: i32, c: f32) -> f32[N] { return x * n + c; }"
PACKED = """kernel packed(q: [ragged T, H, D]) -> [ragged T, H, D]
    { return attend(q, q, q) where j <= i; }"""
CALLS = ["program", "op", "overload"]


@pytest.fixture(scope="module")
def flash():
    return nsacc.compile(EXAMPLES / "flash.nsa", dtype="f32")


@pytest.fixture
def inputs():
    return torch.randn(1, 3, 2, 8), torch.randn(1, 5, 2, 8), torch.randn(1, 5, 2, 4)


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch._dynamo.reset()
    yield


def get_call(program, call):
    op = nsacc.torch.op(program)
    return {"program": program, "op": op, "overload": op.overload}[call]


# -- Forward-mode gradients -------------------------------------------------------------------


def push_dual(function, q):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(q, torch.ones_like(q)))).tangent


FORWARD = {
    "jvp": lambda f, q: torch.func.jvp(f, (q,), (torch.ones_like(q),)),
    "jacfwd": lambda f, q: torch.func.jacfwd(f)(q),
    "linearize": lambda f, q: torch.func.linearize(f, q)[1](torch.ones_like(q)),
    "dual": push_dual,
    "jvp-of-vmap": lambda f, q: torch.func.jvp(
        torch.vmap(lambda x: f(x.clone()), randomness="same"), (q[None],), (q[None],)),
    "no-grad": lambda f, q: torch.no_grad()(push_dual)(f, q),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("transform", FORWARD)
def test_forward_gradients_are_refused(flash, inputs, transform, call):
    """They used to be zeros, or None."""
    q, k, v = inputs
    function = get_call(flash, call)
    with pytest.raises(ArgumentError, match="forward-mode gradients|no torch.vmap"):
        FORWARD[transform](lambda q: function(q, k, v)[0], q)
    assert torch.equal(function(q, k, v)[0], flash(q, k, v).out)


@pytest.mark.parametrize("call", CALLS)
def test_forward_gradients_of_other_inputs_are_refused(flash, inputs, call):
    q, k, v = inputs
    function = get_call(flash, call)
    words = "forward-mode gradients" if call == "overload" else r"'v' has a tangent of forward-mode"
    with pytest.raises(ArgumentError, match=words):
        torch.func.jvp(lambda v: function(q, k, v)[0], (v,), (v,))


@pytest.mark.parametrize("call", ["program", "op"])
def test_what_the_error_says_works(flash, inputs, call):
    q, k, v = inputs
    function, expected = get_call(flash, call), flash(*inputs).out

    def use(x):
        return function(forward_ad.unpack_dual(x).primal, k, v).out * x.sum()

    result, tangent = torch.func.jvp(use, (q,), (torch.ones_like(q),))
    torch.testing.assert_close(result, expected * q.sum())
    torch.testing.assert_close(tangent, expected * q.numel())


@pytest.mark.parametrize("call", ["program", "op"])
def test_constants_under_transforms(flash, inputs, call):
    """Tensors without gradients need no test of gradients."""
    function, expected, x = get_call(flash, call), flash(*inputs).out, torch.tensor(3.0)
    scale = lambda x: function(*inputs).out * x  # noqa: E731
    result, tangent = torch.func.jvp(scale, (x,), (torch.tensor(2.0),))
    assert torch.equal(result, expected * 3) and torch.equal(tangent, expected * 2)
    torch.testing.assert_close(torch.func.grad(lambda x: scale(x).sum())(x), expected.sum())
    assert torch.equal(torch.vmap(scale)(torch.arange(2.0))[1], expected)
    with forward_ad.dual_level():
        assert torch.equal(function(*inputs).out, expected)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("transform", [
    lambda f, q: torch.func.jvp(f, (q,), (q,))[1],
    lambda f, q: torch.func.jacfwd(f)(q),
], ids=["jvp", "jacfwd"])
def test_forward_gradients_under_the_compiler(flash, inputs, transform, call):
    q, k, v = inputs
    function = get_call(flash, call)
    compiled = torch.compile(lambda q: transform(lambda q: function(q, k, v)[0], q),
                             backend="eager")
    with pytest.raises(Exception, match="forward-mode gradients|no torch.vmap"):
        compiled(q)
    inner = torch.compile(lambda q: function(q, k, v)[0], backend="eager")
    assert torch.equal(inner(q), flash(q, k, v).out)
    with pytest.raises(Exception, match="forward-mode gradients|no torch.vmap"):
        transform(inner, q)


@pytest.mark.parametrize("call", ["program", "op"])
def test_gradients_under_the_compiler(flash, inputs, call):
    """Gradients of torch.func: the operator's inputs don't show its wrappers."""
    q, k, v = inputs
    function = get_call(flash, call)
    compiled = torch.compile(
        lambda q: torch.func.grad(lambda q: function(q, k, v).out.sum())(q), backend="eager")
    with pytest.raises(Exception, match="'q' requires gradients"):
        compiled(q)
    whole = torch.compile(lambda q: torch.func.grad(lambda q: function(q, k, v).out.sum())(q),
                          backend="eager", fullgraph=True)
    with pytest.raises(Exception, match="nsacc can't compute gradients yet"):
        whole(q)


# -- Modes and tracers ------------------------------------------------------------------------


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("call", CALLS)
def test_dispatch_modes_see_an_operator(flash, inputs, call):
    function, expected = get_call(flash, call), flash(*inputs)
    with Recorder() as outer, Recorder() as inner:
        results = function(*inputs)
    for result, wanted in zip(results, expected):
        assert torch.equal(result, wanted)
    name = nsacc.torch.op(flash).name
    assert inner.names == outer.names == [f"nsacc.{name}.default"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_graphs_of_make_fx(flash, inputs, call, mode):
    """It used to record only the allocation of results, with memory that is never written."""
    function = get_call(flash, call)
    graph = make_fx(lambda *inputs: function(*inputs)[0], tracing_mode=mode)(*inputs)
    others = tuple(2 * one for one in inputs)
    assert torch.equal(graph(*others), flash(*others).out)


@pytest.mark.parametrize("call", CALLS)
def test_graphs_of_jit(flash, inputs, call):
    function = get_call(flash, call)
    traced = torch.jit.trace(lambda *inputs: function(*inputs)[0], inputs)
    others = tuple(2 * one for one in inputs)
    assert torch.equal(traced(*others), flash(*others).out)


@pytest.mark.parametrize("call", CALLS)
def test_functionalized_calls(flash, inputs, call):
    function, expected = get_call(flash, call), flash(*inputs).out
    assert torch.equal(torch.func.functionalize(lambda *inputs: function(*inputs)[0])(*inputs),
                       expected)
    q, k, v = inputs
    constant = torch.func.functionalize(lambda x: function(q, k, v)[0] * x)(torch.tensor(2.0))
    assert torch.equal(constant, 2 * expected)


@pytest.mark.parametrize("call", CALLS)
def test_zeros_that_are_not_stored(flash, inputs, call):
    q, k, v = inputs
    zeros = torch._efficientzerotensor(q.shape)
    assert torch.equal(get_call(flash, call)(zeros, k, v)[0], flash(torch.zeros_like(q), k, v).out)


@pytest.mark.parametrize("call", ["program", "op"])
def test_subclasses_that_hold_others(flash, inputs, call):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.held = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return function(*(getattr(one, "held", one) for one in args), **(kwargs or {}))

    q, k, v = inputs
    assert torch.equal(get_call(flash, call)(Wrapper(q), k, v).out, flash(q, k, v).out)


def test_numbers_under_modes():
    program, x = nsacc.compile(SCALED), torch.arange(3.0)
    with Recorder() as seen:
        assert torch.equal(program(x, 3, c=0.5), 3 * x + 0.5)
    assert seen.names[0].startswith("nsacc.scaled")
    # Arrays of other libraries don't concern torch.
    with Recorder() as seen:
        assert isinstance(program(np.ones(3, np.float32), 3, 0.5), np.ndarray)
    assert seen.names == []


@pytest.mark.parametrize("trace", [
    lambda f, inputs: make_fx(f)(*inputs),
    lambda f, inputs: torch.jit.trace(f, inputs),
    lambda f, inputs: torch.func.functionalize(f)(*inputs),
], ids=["make_fx", "jit", "functionalize"])
def test_runs_with_options_are_not_recorded(flash, inputs, trace):
    with pytest.raises(ArgumentError, match="run and run_timed can't become part of a graph"):
        trace(lambda *inputs: flash.run(list(inputs), threads=1).out, inputs)


@pytest.mark.parametrize("call", CALLS)
def test_traces_of_jit_are_alike(flash, inputs, call):
    """A first call looks at shapes, which a tracer would record."""
    program = nsacc.compile(flash.source, dtype="f32")
    function = get_call(program, call)
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        # It compares two traces, which have to be equal.
        traced = torch.jit.trace(lambda *inputs: function(*inputs)[0], inputs)
    assert "aten::size" not in str(traced.graph)


def test_compiled_runs_with_options(flash, inputs):
    """They are no part of a graph, which says so, or are left out of it without a warning."""
    def run(*inputs):
        return 2 * flash.run(list(inputs), threads=1).out

    with pytest.raises(torch._dynamo.exc.Unsupported,
                       match="program.run and run_timed can't become part of a graph"):
        torch.compile(run, fullgraph=True, backend="aot_eager")(*inputs)
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = torch.compile(run, backend="aot_eager")(*inputs)
    assert torch.equal(result, 2 * flash(*inputs).out)


def test_a_program_that_meets_modes_first():
    """The one-time look-up also happens within a mode."""
    code = f"""
import torch, nsacc
from torch.fx.experimental.proxy_tensor import make_fx
program, x = nsacc.compile({SCALED!r}), torch.arange(3.0)
graph = make_fx(lambda x: program(x, 2, 1.0))(x)
assert torch.equal(graph(3 * x), program(3 * x, 2, 1.0)), graph.code"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


# -- Objects that are no tensors --------------------------------------------------------------


def test_arrays_of_other_libraries(flash, inputs):
    arrays = [one.numpy() for one in inputs]
    with pytest.raises(ArgumentError, match=r"'q' is a ndarray, expected a tensor of torch.*"
                                            r"torch\.from_numpy\(q\).*the program itself") as error:
        nsacc.torch.op(flash)(*arrays)
    assert len(str(error.value)) < 300
    with pytest.raises(ArgumentError, match="'v' is a NoneType, expected a tensor"):
        nsacc.torch.op(flash)(*inputs[:2], None)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
@pytest.mark.parametrize("call", ["program", "op"])
def test_nested_tensors(flash, inputs, call, layout):
    nested = torch.nested.nested_tensor([torch.randn(3, 2, 8), torch.randn(4, 2, 8)], layout=layout)
    jagged = "" if layout == torch.jagged else r".*nested_tensor\(q.unbind\(\), layout=torch.jagged"
    packed = nsacc.compile(PACKED, dtype="f32")
    offsets = torch.tensor([0, 3, 7])
    # A call with nested tensors alone has no offsets, as they have their own.
    for program, others in ((flash, inputs[1:]), (packed, (offsets,)), (packed, ())):
        ragged = "" if program is packed else r".*ragged dimension, \[ragged T, …\]"
        with pytest.raises(ArgumentError, match=f"'q' is a nested tensor, expected a dense one: "
                                                f"{ragged}{jagged}.*pass q.values\\(\\), and "
                                                f"q.offsets\\(\\) as T_offsets"):
            get_call(program, call)(nested, *others)


def test_jagged_tensors_with_holes():
    packed = nsacc.compile(PACKED, dtype="f32")
    values = torch.randn(7, 2, 8)
    holes = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 7]),
                                                   lengths=torch.tensor([2, 3]))
    for others in ((), (holes.offsets(),)):
        with pytest.raises(ArgumentError, match=r"leave holes .*q = q.contiguous\(\), and pass "
                                                r"q.values\(\)"):
            packed(holes, *others)
    q = holes.contiguous()
    expected = packed(torch.cat([values[:2], values[3:6]]), torch.tensor([0, 2, 5]))
    assert torch.equal(packed(q.values(), q.offsets()), expected)


@pytest.mark.parametrize("call", CALLS)
def test_jagged_tensors_are_ragged_dimensions(call):
    """Values and offsets are accepted, as the error about nested tensors advises; these offsets are
    of i64."""
    packed = nsacc.compile(PACKED, dtype="f32")
    function = get_call(packed, call)
    rows = [torch.randn(3, 2, 8), torch.randn(4, 2, 8)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    offsets = nested.offsets()
    assert offsets.dtype == torch.int64
    expected = packed(torch.cat(rows), offsets.int())
    assert torch.equal(function(nested.values(), offsets), expected)
    compiled = torch.compile(lambda *inputs: function(*inputs), fullgraph=True, backend="eager")
    assert torch.equal(compiled(nested.values(), offsets), expected)
    found = packed(nested.values().numpy(), offsets.numpy())
    assert (found == expected.numpy()).all()
    assert packed.result_shapes(nested.values(), offsets) == {"out": (7, 2, 8)}
    for wrong in (offsets + 2**32, torch.tensor([0, 3 + 2**32, 7]), torch.tensor([0, -2**32, 7])):
        with pytest.raises(ArgumentError, match="'T_offsets' has -?42949672[0-9]{2} at entry"):
            function(nested.values(), wrong)


@pytest.mark.parametrize("way", ("run", "run_timed"))
def test_runs_refuse_tangents(flash, inputs, way) -> None:
    with forward_ad.dual_level():
        q = forward_ad.make_dual(inputs[0], torch.ones_like(inputs[0]))
        with pytest.raises(ArgumentError, match="'q' has a tangent of forward-mode gradients"):
            getattr(flash, way)([q, *inputs[1:]])
        getattr(flash, way)(list(inputs))
