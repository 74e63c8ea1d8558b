"""Calls with only tensors of torch, which take a short path through the extension, and calls that
can't take it."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError, NsaccError

torch = pytest.importorskip("torch")

SCALED = """kernel scaled(x: f32[N], n: i32, l: i64, c: f32, f: bool) -> f32[N] {
  return x * n + l + c; }"""
ROWS = """kernel rows(k: f32[ragged S, H, D]) -> f32[ragged N, H, D] { return pool(k, 4, 4); }"""


def is_quick(program, *inputs):
    return program._call_quickly(inputs) is not None


@pytest.fixture(scope="module")
def flash():
    return nsacc.compile(EXAMPLES / "flash.nsa", dtype="f32")


@pytest.fixture(scope="module")
def scaled():
    return nsacc.compile(SCALED)


@pytest.fixture
def inputs():
    return (torch.randn(2, 7, 6, 8), torch.randn(2, 11, 2, 8), torch.randn(2, 11, 2, 4))


@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.transpose(0, 1).contiguous().transpose(0, 1), lambda x: x[..., ::2],
    lambda x: x[:1].expand(3, *x.shape[1:]), lambda x: x[:, 1:2], lambda x: x[:, :0],
    torch.nn.Parameter], ids=["plain", "permuted", "step", "expanded", "one", "none", "parameter"])
def test_what_is_quick(flash, inputs, view):
    with torch.no_grad():
        inputs = tuple(map(view, inputs))
        results = flash._call_quickly(inputs)
        for result, wanted in zip(results, flash.run(list(inputs))):
            assert result.dtype == torch.float32 and result.device.type == "cpu"
            assert torch.equal(result, wanted)
        assert type(results) is type(flash.run(list(inputs)))


@pytest.mark.parametrize("spoil", [
    lambda q: q.numpy(), lambda q: q.double(), lambda q: q.to_sparse(), lambda q: q[0],
    lambda q: q.to("meta"), lambda q: q.clone().requires_grad_(), lambda q: None,
    lambda q: torch.complex(q, q), lambda q: torch.imag(torch.complex(q, q).conj()),
    lambda q: 1.0, lambda q: q[..., :5], lambda q: q[None, None, None, None, None],
    lambda q: torch._efficientzerotensor(q.shape)],
    ids=["numpy", "f64", "sparse", "rank", "meta", "gradient", "none", "complex", "negated",
         "number", "size", "many-dims", "no-memory"])
def test_what_is_not(flash, inputs, spoil):
    """The short path leaves it alone, and the long one either computes it or reports the
    mistake."""
    q, k, v = inputs
    assert not is_quick(flash, spoil(q), k, v)
    assert not is_quick(flash, q, k)
    assert not is_quick(flash, q, k, v, v)


def test_subclasses_are_left_alone(flash, inputs):
    class Other(torch.Tensor):
        pass

    q, k, v = inputs
    assert not is_quick(flash, q.as_subclass(Other), k, v)
    assert torch.equal(flash(q.as_subclass(Other), k, v).out, flash(q, k, v).out)


@pytest.mark.parametrize("numbers", [(3, 4, 0.5, True), (-2**31, 2**62, 7, False)], ids=str)
def test_numbers(scaled, numbers):
    x = torch.tensor([1.0, -2.0, 3.0])
    assert is_quick(scaled, x, *numbers)
    assert torch.equal(scaled(x, *numbers), scaled.run([x, *numbers]))


@pytest.mark.parametrize("numbers, words", [
    ((2**31, 4, 0.5, True), "'n' is 2147483648, which i32 can't hold"),
    ((3, 2**63, 0.5, True), "which i64 can't hold"), ((3, 4, 1e39, True), "which f32 can't hold"),
    ((3, 4, 10**400, True), "which f32 can't hold"), ((3.0, 4, 0.5, True), "'n' is 3.0, expected"),
    ((True, 4, 0.5, True), "'n' is True, expected i32"), ((3, 4, 0.5, 1), "'f' is 1, expected"),
    ((3, 4, False, True), "'c' is False, expected f32"), ((3, None, 0.5, True), "'l' is None")])
def test_numbers_that_do_not_fit(scaled, numbers, words):
    x = torch.ones(3)
    assert not is_quick(scaled, x, *numbers)
    with pytest.raises(ArgumentError) as error:
        scaled(x, *numbers)
    assert words in str(error.value)


def test_numbers_alone_decide_no_library():
    program = nsacc.compile("kernel f(x, y: f32) -> f32 { return x + y; }")
    assert not is_quick(program, 1.0, 2.0)
    assert isinstance(program(1.0, 2.0), np.ndarray)


def test_shapes_are_found_anew_where_they_change(flash):
    for _ in range(2):
        for batch, queries, keys in ((1, 3, 5), (2, 3, 5), (1, 5, 5), (1, 3, 7)):
            q, k = torch.randn(batch, queries, 6, 8), torch.randn(batch, keys, 2, 8)
            out, lse = flash(q, k, k)
            assert out.shape == q.shape and lse.shape == q.shape[:3]
            assert torch.equal(out, flash.run([q, k, k]).out)
            with pytest.raises(ArgumentError, match="dimension S is"):
                flash(q, k, k[:, 1:])


def test_rows_are_read_in_every_call():
    """With equal shapes, the lengths of rows may differ, and so do the results' shapes."""
    rows, k = nsacc.compile(ROWS), torch.ones(12, 2, 8)
    for offsets, count in (([0, 4, 12], 3), ([0, 5, 12], 4), ([0, 12, 12], 3)):
        assert rows(k, torch.tensor(offsets, dtype=torch.int32)).shape[0] == count
    with pytest.raises(ArgumentError, match="must start with 0, found 1"):
        rows(k, torch.tensor([1, 4, 12], dtype=torch.int32))


def test_odd_sizes_are_told_once():
    """A warning in every call would send each down the long path."""
    flash = nsacc.compile(EXAMPLES / "flash.nsa", dtype="f32")
    q, k = torch.randn(1, 7, 6, 8), torch.randn(1, 3, 6, 8)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        results = [flash(q, k, k) for _ in range(2)]
    assert [str(one.message)[:25] for one in told] == ["flash: queries T = 7 are more than"[:25]]
    assert told[0].filename == __file__
    assert torch.equal(results[0].out, results[1].out)
    assert flash._call_quickly((q, k, k)) is not None


def test_a_default_device_is_for_others(flash, inputs):
    expected = flash(*inputs).out
    with torch.device("meta"):
        assert torch.equal(flash(*inputs).out, expected)
        assert torch.equal(flash.run(list(inputs)).out, expected)


def test_variables_are_read_in_every_call(flash, inputs, monkeypatch):
    flash(*inputs)
    monkeypatch.setenv("NSACC_THREADS", "many")
    with pytest.raises(NsaccError, match="NSACC_THREADS"):
        flash(*inputs)


def test_references_are_let_go(flash, inputs):
    counts = []
    for _ in range(3):
        results = flash(*inputs)
        counts.append([sys.getrefcount(one) for one in (*inputs, *results, type(results))])
    assert counts[1] == counts[2]


def test_threads_with_shapes_of_their_own(flash):
    mistakes = []

    def call(queries):
        q, k = torch.randn(1, queries, 6, 8), torch.randn(1, 11, 2, 8)
        wanted = flash.run([q, k, k]).out
        for _ in range(200):
            if not torch.equal(flash(q, k, k).out, wanted):
                mistakes.append(queries)

    threads = [threading.Thread(target=call, args=(queries,)) for queries in (1, 3, 5, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mistakes


def test_a_torch_without_the_exchange():
    """DLPack's functions in C came with torch 2.10; without them calls take the long path."""
    code = f"""
import torch
torch.Tensor.__dlpack_c_exchange_api__ = None
import nsacc
program = nsacc.compile({SCALED!r})
inputs = (torch.ones(3), 2, 3, 0.5, True)
assert program._call_quickly(inputs) is None
assert torch.equal(program(*inputs), torch.full((3,), 5.5))"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
