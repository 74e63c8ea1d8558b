"""Programs as operators of torch: nsacc.torch.op, and calls under torch.compile."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import warnings

import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")

from torch._dynamo.testing import CompileCounter  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

import nsacc.torch  # noqa: E402

FLASH = EXAMPLES / "flash.nsa"
SCALED = "kernel scaled(x: f32[N], n: i32, c: f32, f: bool) -> f32[N] { return x * n + c; }"
PACKED = """kernel packed(q: [ragged T, H, D], k: [ragged S, H, D], v: [ragged S, H, D])
    -> [ragged T, H, D] { return attend(q, k, v) where j <= i; }"""
POOLED = "kernel pooled(k: [B, S, H, D]) -> [B, N, H, D] { return pool(k, 4, 2); }"
CHOSEN = """kernel chosen(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], n: i32[B, T, H, 2])
    -> [B, T, HQ, DV] { return attend(q, k, v) in selection(n, 4); }"""
# Batch, queries, keys, heads of queries and of keys.
SIZES = [(1, 1, 1, 1, 1), (2, 0, 3, 2, 2), (0, 3, 5, 2, 1), (3, 7, 11, 3, 1), (2, 13, 29, 6, 2),
         (5, 3, 3, 5, 5)]


def compile(source, **options):
    return nsacc.compile(source, dtype="f32", **options)


@pytest.fixture(scope="module")
def flash():
    return compile(FLASH)


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch._dynamo.reset()
    yield


def make_inputs(batch, queries, keys, query_heads, key_heads, width=8):
    return (torch.randn(batch, queries, query_heads, width),
            torch.randn(batch, keys, key_heads, width), torch.randn(batch, keys, key_heads, 4))


def make_selection(batch, queries, keys, heads):
    return torch.randint(0, max(keys // 4, 1), (batch, queries, heads, 2), dtype=torch.int32)


def make_offsets(*lengths):
    return torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0).to(torch.int32)


# -- Operators --------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_results_are_those_of_a_call(flash, sizes):
    inputs = make_inputs(*sizes)
    expected, results = flash.run(list(inputs)), nsacc.torch.op(flash)(*inputs)
    assert type(results) is type(expected) and results._fields == ("out", "lse")
    for result, wanted in zip(results, expected):
        assert torch.equal(result, wanted)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_opcheck(flash, sizes):
    torch.library.opcheck(nsacc.torch.op(flash).overload, make_inputs(*sizes))


def test_opcheck_of_other_strides(flash):
    q, k, v = make_inputs(2, 7, 11, 6, 3)
    strided = (q.transpose(1, 2).contiguous().transpose(1, 2), k[:, :1].expand(2, 11, 3, 8),
               torch.randn(2, 11, 3, 8)[..., ::2])
    torch.library.opcheck(nsacc.torch.op(flash).overload, strided)


@pytest.mark.parametrize("source, inputs", [
    (SCALED, (torch.ones(5), 3, 0.5, True)),
    (POOLED, (torch.randn(2, 13, 1, 3),)),
    (POOLED, (torch.randn(2, 1, 1, 3),)),
    (CHOSEN, (*make_inputs(2, 3, 11, 6, 2), make_selection(2, 3, 11, 2))),
], ids=["numbers", "pool", "short-pool", "selection"])
def test_opcheck_of_other_programs(source, inputs):
    program = compile(source)
    torch.library.opcheck(nsacc.torch.op(program).overload, inputs)
    assert torch.equal(nsacc.torch.op(program)(*inputs), program.run(list(inputs)))


def test_inputs_by_name_and_numbers_as_tensors():
    program = compile(SCALED)
    op, x = nsacc.torch.op(program), torch.arange(3.0)
    expected = torch.tensor([0.5, 3.5, 6.5])
    assert torch.equal(op(c=0.5, x=x, n=3, f=True), expected)
    assert torch.equal(op(x, torch.tensor(3, dtype=torch.int32), 0.5, True), expected)
    overloads = getattr(torch.ops.nsacc, op.name)
    numbers = [torch.tensor(3, dtype=torch.int32), torch.tensor(0.5), torch.tensor(True)]
    torch.library.opcheck(overloads.tensors, (x, *numbers))


def test_names_say_what_an_operator_is():
    op = nsacc.torch.op(compile(SCALED))
    assert op.name.startswith("scaled_") and len(op.name) == len("scaled_") + 16
    assert nsacc.torch.op(compile(SCALED)).overload is op.overload
    others = [nsacc.torch.op(compile(SCALED, target="oracle")),
              nsacc.torch.op(compile(SCALED.replace("+ c", "- c")))]
    assert len({op.name, *(other.name for other in others)}) == 3
    assert str(op.overload._schema).endswith("(Tensor x, SymInt n, float c, bool f) -> Tensor")
    code = f"""
import nsacc, nsacc.torch
print(nsacc.torch.op(nsacc.compile({SCALED!r}, dtype="f32")).name)"""
    again = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert again.stdout.strip() == op.name, again.stderr


def test_programs_of_packages(flash, tmp_path):
    path = tmp_path / "flash.nsapkg"
    flash.package(path, {"HQ": 6, "H": 2, "D": 8, "DV": 4})
    loaded, inputs = nsacc.load(path), make_inputs(2, 7, 11, 6, 2)
    op = nsacc.torch.op(loaded)
    assert op.name != nsacc.torch.op(flash).name
    assert op.name == nsacc.torch.op(nsacc.load(path)).name
    torch.library.opcheck(op.overload, inputs)
    compiled = torch.compile(lambda *inputs: loaded(*inputs).out, fullgraph=True, backend="eager")
    assert torch.equal(compiled(*inputs), loaded(*inputs).out)


def test_threads_share_an_operator():
    program, x, found = compile(SCALED.replace("scaled", "shared")), torch.ones(3), []

    def call():
        found.append(nsacc.torch.op(program)(x, 2, 1.0, True).sum().item())

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [9.0] * 8


# -- torch.compile ----------------------------------------------------------------------------


CALLS = {
    "op": lambda program: lambda *inputs: nsacc.torch.op(program)(*inputs),
    "made-before": lambda program: nsacc.torch.op(program),
    "program": lambda program: lambda *inputs: program(*inputs),
    "by-name": lambda program: lambda q, k, v: program(q, v=v, k=k),
}


@pytest.mark.parametrize("call", CALLS)
def test_batch_and_length_are_compiled_once(flash, call):
    function, counter = CALLS[call](flash), CompileCounter()
    compiled = torch.compile(lambda q, k, v: function(2 * q, k, v).out + 1, fullgraph=True,
                             dynamic=True, backend=counter)
    for sizes in ((3, 10, 31, 6, 2), (7, 11, 37, 6, 2), (5, 23, 29, 6, 2)):
        q, k, v = make_inputs(*sizes)
        assert torch.equal(compiled(q, k, v), flash(2 * q, k, v).out + 1)
    assert counter.frame_count == 1


def test_marked_dimensions_stay_dynamic(flash):
    """mark_dynamic is an error where a dimension would be made a constant."""
    counter = CompileCounter()
    compiled = torch.compile(lambda *inputs: flash(*inputs).lse, fullgraph=True, backend=counter)
    for sizes in ((3, 10, 31, 6, 2), (7, 11, 37, 6, 2)):
        inputs = make_inputs(*sizes)
        for tensor in inputs:
            torch._dynamo.mark_dynamic(tensor, 0)
            torch._dynamo.mark_dynamic(tensor, 1)
        assert torch.equal(compiled(*inputs), flash(*inputs).lse)
    assert counter.frame_count == 1


@pytest.mark.parametrize("source, make", [
    (POOLED, lambda size: (torch.randn(3, size, 1, 5),)),
    (CHOSEN, lambda size: (*make_inputs(3, size, 31 + size, 6, 2),
                           make_selection(3, size, 31 + size, 2))),
    (PACKED, lambda size: (torch.randn(2 * size, 3, 8), torch.randn(2 * size, 3, 8),
                           torch.randn(2 * size, 3, 8), make_offsets(size, 0, size),
                           make_offsets(size, 0, size))),
], ids=["pool", "selection", "ragged"])
def test_other_programs_are_compiled_once(source, make):
    program, counter = compile(source), CompileCounter()
    compiled = torch.compile(lambda *inputs: program(*inputs) + 1, fullgraph=True, dynamic=True,
                             backend=counter)
    for size in (17, 23, 29):
        inputs = make(size)
        assert torch.equal(compiled(*inputs), program(*inputs) + 1)
    assert counter.frame_count == 1


def test_sizes_that_only_rows_tell():
    """The number of pooled keys of packed rows depends on the rows' lengths."""
    program = compile("""kernel rows(k: [ragged S, H, D]) -> [ragged N, H, D] {
  return pool(k, 4, 4); }""")
    compiled = torch.compile(lambda k, offsets: program(k, offsets), fullgraph=True, dynamic=True,
                             backend="eager")
    for lengths in ((9, 3, 8), (4, 4)):
        k, offsets = torch.randn(sum(lengths), 2, 8), make_offsets(*lengths)
        result = compiled(k, offsets)
        assert result.shape[0] == sum(-(-length // 4) for length in lengths)
        assert torch.equal(result, program(k, offsets))


def test_numbers_that_change():
    program = compile(SCALED)
    compiled = torch.compile(lambda x, n: program(x, n, 0.5, True), fullgraph=True,
                             backend="aot_eager")
    for n in (2, 3, 7, 11):
        assert torch.equal(compiled(torch.ones(5), n), torch.full((5,), n + 0.5))
    tensors = torch.compile(lambda x, n: program(x, n, 0.5, True), fullgraph=True,
                            backend="aot_eager")
    assert torch.equal(tensors(torch.ones(5), torch.tensor(3, dtype=torch.int32)),
                       torch.full((5,), 3.5))


def test_numbers_that_tensors_hold():
    """docs/Python.md says which of both to pass."""
    program, x = compile(SCALED), torch.randn(5)
    compiled, read = (torch.compile(way, fullgraph=True, backend="eager") for way in (
        lambda x, c: program(x, 2, c, True), lambda x, c: program(x, 2, c.item(), True)))
    for number in (0.5, 0.25):
        c = torch.tensor(number)
        torch.testing.assert_close(compiled(x, c), program(x, 2, number, True))
    with pytest.raises(RuntimeError, match="Expected a value of type .*float"):
        read(x, c)


def test_compiled_code_knows_its_program(flash):
    other = compile("""kernel all(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])
    -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ]) { a = attend(q, k, v); return a, lse(a); }""")
    inputs = make_inputs(2, 7, 11, 6, 2)
    compiled = torch.compile(lambda program, *inputs: program(*inputs).out, fullgraph=True,
                             backend="eager")
    for program in (flash, other, flash):
        assert torch.equal(compiled(program, *inputs), program(*inputs).out)


def test_code_of_inductor(flash):
    inputs = make_inputs(2, 7, 11, 6, 2)
    compiled = torch.compile(lambda q, k, v: flash(q * 2, k, v).out + 1, fullgraph=True)
    try:
        result = compiled(*inputs)
    except torch._inductor.exc.InductorError as error:
        pytest.skip(f"torch's compiler needs one of C++: {str(error)[:80]}")
    expected = flash(inputs[0] * 2, *inputs[1:]).out + 1
    torch.testing.assert_close(result, expected)


def test_exported_programs(flash):
    class Module(torch.nn.Module):
        def forward(self, q, k, v):
            return flash(q, k, v).out

    inputs = make_inputs(2, 7, 11, 6, 2)
    for strict in (False, True):
        exported = torch.export.export(Module(), inputs, strict=strict).module()
        assert torch.equal(exported(*inputs), flash(*inputs).out)


def test_exported_programs_in_another_process(flash, tmp_path):
    class Module(torch.nn.Module):
        def forward(self, q, k, v):
            return flash(q, k, v).out

    inputs = make_inputs(2, 7, 11, 6, 2)
    torch.export.save(torch.export.export(Module(), inputs), tmp_path / "module.pt2")
    torch.save((inputs, flash(*inputs).out), tmp_path / "expected.pt")
    code = f"""
import torch, nsacc, nsacc.torch
nsacc.torch.op(nsacc.compile({str(FLASH)!r}, dtype="f32"))
module = torch.export.load({str(tmp_path / "module.pt2")!r}).module()
inputs, expected = torch.load({str(tmp_path / "expected.pt")!r})
assert torch.equal(module(*inputs), expected)"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_exported_programs_without_their_operator(flash, tmp_path):
    """Torch says that something isn't registered, but not its name."""
    module = torch.nn.Module()
    module.forward = lambda q, k, v: flash(q, k, v).out
    torch.export.save(torch.export.export(module, make_inputs(1, 3, 3, 2, 2)),
                      tmp_path / "module.pt2")
    name = nsacc.torch.op(flash).name
    words = (f"nsacc has no operator {name}: .*kernel 'flash' isn't compiled yet.*"
             r"nsacc\.torch\.op\(nsacc\.compile")
    code = f"""
import torch, nsacc.torch, warnings
assert not hasattr(torch.ops.nsacc, "flash")
try:
    torch.ops.nsacc.{name}
except nsacc.errors.ArgumentError as error:
    print(error)
torch.export.load({str(tmp_path / "module.pt2")!r})"""
    for imported in ("nsacc.torch", "sys"):
        start = code if imported == "nsacc.torch" else "import torch" + code[code.rindex("\n"):]
        done = subprocess.run([sys.executable, "-c", start], text=True, capture_output=True)
        assert done.returncode != 0
        if imported == "nsacc.torch":
            assert re.search(words, done.stdout) and re.search(words, done.stderr)
        else:
            # Calls that get no message of nsacc.
            assert f"torch.ops.nsacc.{name}" in done.stderr


def test_fake_tensors(flash):
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(one) for one in make_inputs(2, 7, 11, 6, 2)]
        assert flash(*fakes).lse.shape == nsacc.torch.op(flash)(*fakes).lse.shape == (2, 7, 6)
        with pytest.raises(ArgumentError, match="'v' holds f64, expected f32"):
            flash(*fakes[:2], fakes[2].double())


# -- Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["op", "overload", "program"])
def test_gradients(flash, call):
    op = nsacc.torch.op(flash)
    function = {"op": op, "overload": op.overload, "program": flash}[call]
    q, k, v = make_inputs(2, 7, 11, 6, 2)
    expected = flash(q, k, v).out
    q.requires_grad_()
    with pytest.raises(ArgumentError, match=r"'q' requires gradients.*no_grad\(\).*q\.detach"):
        function(q, k, v)
    with torch.no_grad():
        assert torch.equal(function(q, k, v)[0], expected)
    parameter = torch.nn.Parameter(q.detach(), requires_grad=False)
    assert torch.equal(function(parameter, k, v)[0], expected)
    with torch.inference_mode():
        assert torch.equal(function(q, k, v)[0], expected)


@pytest.mark.parametrize("call", ["op", "program"])
def test_transforms(flash, call):
    function = nsacc.torch.op(flash) if call == "op" else flash
    q, k, v = make_inputs(2, 7, 11, 6, 2)
    with pytest.raises(ArgumentError, match=r"'q' requires gradients"):
        torch.func.grad(lambda q: function(q, k, v).out.sum())(q)
    with pytest.raises(ArgumentError, match=r"no torch\.vmap over kernel 'flash'.*flatten\(0, 1\)"):
        torch.vmap(function)(q[None], k[None], v[None])


def test_mistakes_keep_their_words(flash):
    op = nsacc.torch.op(flash)
    q, k, v = make_inputs(2, 7, 11, 6, 2)
    mistakes = [(q, k, v.double()), (q, k[:, :3], v), (q, k), (q[0], k, v), (q, k, v, v),
                (q[:, :, :5], k, v), (q.to_sparse(), k, v)]
    for inputs in mistakes:
        with pytest.raises(ArgumentError) as expected:
            flash.run(list(inputs))
        for function in (flash, op):
            with pytest.raises(ArgumentError) as found:
                function(*inputs)
            assert str(found.value) == str(expected.value)
    with pytest.raises(ArgumentError, match="is a str, expected what nsacc.compile"):
        nsacc.torch.op("flash")


def test_mistakes_under_the_compiler(flash):
    q, k, v = make_inputs(2, 7, 11, 6, 2)
    mistakes = [
        ((q, k[:, :3], v), "dimension S is 3 in 'k' but 11 in 'v': equal names must have equal"),
        ((q, k[..., :5], v), "dimension D is 8 in 'q' but 5 in 'k': equal names must have equal"),
        ((q.clone().requires_grad_(), k, v), "'q' requires gradients, which nsacc can't compute")]
    for inputs, words in mistakes:
        for dynamic in (None, True):
            torch._dynamo.reset()
            whole = torch.compile(lambda q, k, v: flash(q, k, v).out, fullgraph=True,
                                  dynamic=dynamic, backend="eager")
            # Behind our message, torch shows its place.
            with pytest.raises(ArgumentError, match=f"^{words}.*(\n\nfrom user code:|$)"):
                whole(*inputs)
            parts = torch.compile(lambda q, k, v: flash(q, k, v).out, dynamic=dynamic)
            with warnings.catch_warnings(), pytest.raises(ArgumentError) as error:
                warnings.simplefilter("error")
                parts(*inputs)
            assert str(error.value).startswith(words) and "\n" not in str(error.value)


@pytest.mark.parametrize("call", ["op", "program"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_wrong_names_under_the_compiler(flash, call, dynamic):
    function = nsacc.torch.op(flash) if call == "op" else flash
    q, k, v = make_inputs(2, 7, 11, 6, 2)
    mistakes = [
        (lambda q, k, v: function(q, k), "kernel 'flash' misses an input: v: f32"),
        (lambda q, k, v: function(q, k, v, v), r"takes 3 inputs, found 4: flash\(q: f32"),
        (lambda q, k, v: function(q, k, vv=v), "no input 'vv'; did you mean 'v'"),
        (lambda q, k, v: function(q, k, v, v=v), "'v' is given twice"),
        (lambda q, k, v: flash.run([q, k, v], thread=1), "did you mean 'threads'")]
    for mistake, message in mistakes:
        compiled = torch.compile(mistake, fullgraph=True, dynamic=dynamic, backend="eager")
        # A TypeError, as for run's options, is torch's there.
        error = torch._dynamo.exc.Unsupported if "thread" in message else ArgumentError
        with pytest.raises(error, match=message):
            compiled(q, k, v)


@pytest.mark.parametrize("numbers", [
    (7.0, 1.0, True), (2**40, 1.0, True), (2**70, 1.0, True), ("7", 1.0, True), ([7], 1.0, True),
    (7, None, True), (7, "a", True), (7, 1j, True), (True, 1.0, True), (7, True, True),
    (7, 1.0, 1), (7, 1.0, 0.0)], ids=str)
def test_numbers_of_a_wrong_kind(numbers):
    program, x = compile(SCALED), torch.ones(3)
    with pytest.raises(ArgumentError) as expected:
        program(x, *numbers)
    with pytest.raises(ArgumentError) as found:
        nsacc.torch.op(program)(x, *numbers)
    assert str(found.value) == str(expected.value)


def test_numbers_beside_tensors_are_not_cut_off():
    op, x, flag = nsacc.torch.op(compile(SCALED)), torch.ones(3), torch.tensor(True)
    compiled = torch.compile(lambda n: op(x, n, 1.0, flag), fullgraph=True, backend="eager")
    for function, error in ((lambda n: op(x, n, 1.0, flag), ArgumentError),
                            (compiled, torch._dynamo.exc.Unsupported)):
        assert torch.equal(function(7), torch.full((3,), 8.0))
        with pytest.raises(error, match="'n' is a float, expected i32: the program declares n: i"):
            function(7.5)


def test_torch_is_imported_by_nsacc_torch_alone():
    code = """
import sys, nsacc
assert "torch" not in sys.modules
import nsacc.torch
assert "torch" in sys.modules and "transformers" not in sys.modules"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
