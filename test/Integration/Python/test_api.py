"""nsacc.compile and Program: arguments, results and descriptions."""

from __future__ import annotations

import copy
import ctypes
import functools
import importlib.metadata
import inspect
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nsacc
from nsacc.errors import ArgumentError, TargetError

CAUSAL = """
kernel causal<window = 1000, soft = 0.5, keep_all = true>(
    q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV]
{
  return attend(q, k, v) where 0 <= i - j < window;
}
"""

TWO_RESULTS = """
kernel both(q, k, v: [B, T, H, D]) -> (out: [B, T, H, D], norm: f32[B, T, H]) {
  a = attend(q, k, v) where j <= i;
  return a, lse(a);
}
"""


def tensors(seed=0, queries=6, tokens=6):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((2, queries, 4, 8), dtype=np.float32),
            rng.standard_normal((2, tokens, 2, 8), dtype=np.float32),
            rng.standard_normal((2, tokens, 2, 5), dtype=np.float32))


def formula(q, k, v, window=1000):
    """Attention in float64, straight from its definition."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    s = np.einsum("bthd,bshd->bths", q, k.repeat(group, 2)) * q.shape[3] ** -0.5
    i = np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    j = np.arange(k.shape[1])
    visible = (i >= j) & (i - j < window)
    s = np.where(visible[:, None, :], s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bths,bshd->bthd", p / p.sum(-1, keepdims=True), v.repeat(group, 2))


@pytest.fixture(scope="module", params=["cpu", "oracle"])
def program(request):
    return nsacc.compile(CAUSAL, dtype="f32", target=request.param)


def test_runs_by_position_and_by_name(program):
    q, k, v = tensors()
    expected = formula(q, k, v)
    np.testing.assert_allclose(program(q, k, v), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(program(q, v=v, k=k), program(q, k, v))
    np.testing.assert_array_equal(program.run({"v": v, "q": q, "k": k}), program(q, k, v))
    np.testing.assert_array_equal(program.run([q, k, v]), program(q, k, v))


def test_infers_dimensions(program):
    for queries, tokens in [(1, 1), (1, 7), (3, 5), (7, 3)]:
        q, k, v = tensors(queries, queries, tokens)
        if queries <= tokens:
            np.testing.assert_allclose(program(q, k, v), formula(q, k, v), rtol=1e-6, atol=1e-6)
        assert program(q, k, v).shape == (2, queries, 4, 5)


def test_parameters_are_keywords(program):
    q, k, v = tensors()
    narrow = nsacc.compile(CAUSAL, dtype="f32", window=2)
    np.testing.assert_allclose(narrow(q, k, v), formula(q, k, v, window=2), rtol=1e-6, atol=1e-6)
    assert narrow.params == {"window": 2, "soft": 0.5, "keep_all": True}
    other = nsacc.compile(CAUSAL, window=np.int64(3), soft=np.float32(0.25), keep_all=False)
    assert other.params == {"window": 3, "soft": 0.25, "keep_all": False}
    assert nsacc.compile(CAUSAL, params={"window": 4}).params["window"] == 4
    with pytest.raises(TypeError):
        narrow.params["window"] = 9


def test_results_without_rounding(program):
    q, k, v = tensors()
    if program.target != "oracle":
        with pytest.raises(ArgumentError, match="of target 'oracle'"):
            program.run([q, k, v], f64_results=True)
        return
    exact = program.run([q, k, v], f64_results=True)
    assert exact.dtype == np.float64
    np.testing.assert_allclose(exact, formula(q, k, v), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(exact.astype(np.float32), program(q, k, v))


def test_timing():
    program = nsacc.compile(CAUSAL, dtype="f32", schedule="tokens=4,keys=16")
    assert program.schedule == "tokens=4,keys=16"
    q, k, v = tensors()
    out, timing = program.run_timed([q, k, v], threads=1)
    np.testing.assert_allclose(out, formula(q, k, v), rtol=1e-6, atol=1e-6)
    assert timing.compile_seconds > 0 and timing.run_seconds > 0 and timing.workspace_bytes >= 0
    assert program.run_timed([q, k, v])[1].compile_seconds == 0


def test_signals_interrupt_runs():
    program = nsacc.compile(CAUSAL, dtype="f32")
    x = np.ones((1, 1000, 4, 64), np.float32)
    program(x, x, x)
    x = np.ones((1, 60000, 4, 64), np.float32)

    def interrupt(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            program.run([x, x, x], threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize("tokens", [2, 300])
def test_the_callers_rounding_changes_nothing(tokens):
    program = nsacc.compile(CAUSAL, dtype="f32")
    x = np.random.default_rng(0).standard_normal((3, 1, tokens, 4, 64), np.float32)
    right = program(*x)
    libm = ctypes.CDLL("libm.so.6")
    nearest = libm.fegetround()
    libm.fesetround(0x800)  # FE_UPWARD
    try:
        results = [program(*x) for _ in range(3)]
        assert libm.fegetround() == 0x800
    finally:
        libm.fesetround(nearest)
    for result in results:
        np.testing.assert_array_equal(result, right)


def test_threads_change_nothing(program, monkeypatch):
    q, k, v = tensors()
    one = program.run([q, k, v], threads=1)
    np.testing.assert_array_equal(program.run([q, k, v], threads=5), one)
    monkeypatch.setenv("NSACC_THREADS", "2")
    np.testing.assert_array_equal(program(q, k, v), one)
    monkeypatch.setenv("NSACC_THREADS", "some")
    with pytest.raises(ArgumentError, match="NSACC_THREADS is 'some'"):
        program(q, k, v)
    with pytest.raises(ArgumentError, match="threads is -1"):
        program.run([q, k, v], threads=-1)


def test_several_results_are_a_named_tuple():
    both = nsacc.compile(TWO_RESULTS, dtype="f32")
    q, *_ = tensors()
    result = both(q, q, q)
    assert isinstance(result, tuple)
    assert result._fields == ("out", "norm")
    assert result.out.shape == q.shape
    assert result.norm.shape == q.shape[:3]
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.norm, result.norm)
    # Making a class for each call would take longer than a launch.
    assert type(both(q, q, q)) is type(again) is type(result)


def test_signature(program):
    signature = program.signature
    assert str(signature) == ("(q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, DV])"
                              " -> f32[B, T, HQ, DV]")
    assert signature.dims == ("B", "T", "HQ", "D", "S", "H", "DV")
    assert inspect.signature(program) == signature
    assert list(signature.parameters) == ["q", "k", "v"]
    assert [dim.name for dim in signature.parameters["q"].annotation.dims] == list("BT") + \
        ["HQ", "D"]
    (result,) = signature.results
    assert (result.name, result.dtype, result.rank) == ("out", "f32", 4)
    bound = signature.bind(1, v=2, k=3)
    assert bound.arguments == {"q": 1, "k": 3, "v": 2}
    assert list(inspect.signature(functools.partial(program, 1)).parameters) == ["k", "v"]
    assert pickle.loads(pickle.dumps(signature)) == signature


def test_signature_of_words_of_python():
    program = nsacc.compile("kernel f(lambda, x: f32[N]) -> f32[N] { return lambda + x; }",
                            target="oracle")
    assert list(program.signature.parameters) == ["lambda_", "x"]
    one = np.ones(3, np.float32)
    np.testing.assert_array_equal(program(**{"lambda": one, "x": one}), 2 * one)


def test_ragged_signature_has_offsets():
    program = nsacc.compile(
        "kernel f(q, k: [ragged T, H, D]) -> [ragged T, H, D] { return attend(q, k, k); }",
        dtype="f32")
    assert [spec.name for spec in program.signature.inputs] == ["q", "k", "T_offsets"]
    assert program.signature.inputs[2].is_offsets
    x = np.ones((5, 2, 8), np.float32)
    offsets = np.array([0, 2, 2, 5], np.int32)
    np.testing.assert_allclose(program(x, x, T_offsets=offsets), x, rtol=1e-6)
    assert program.result_shapes((5, 2, 8), (5, 2, 8), offsets) == {"out": (5, 2, 8)}
    with pytest.raises(ArgumentError, match="'T_offsets' is a shape"):
        program.result_shapes((5, 2, 8), (5, 2, 8), (4,))
    with pytest.raises(ArgumentError, match="T_offsets"):
        program(x, x, np.array([0, 9, 5], np.int32))


def test_result_shapes(program):
    shapes = program.result_shapes((2, 6, 4, 8), k=(2, 9, 2, 8), v=(2, 9, 2, 3))
    assert shapes == {"out": (2, 6, 4, 3)}
    huge = program.result_shapes((1, 1 << 20, 4, 8), (1, 1 << 20, 2, 8), (1, 1 << 20, 2, 3))
    assert huge == {"out": (1, 1 << 20, 4, 3)}
    with pytest.raises(ArgumentError, match="HQ = 5"):
        program.result_shapes((2, 6, 5, 8), (2, 9, 2, 8), (2, 9, 2, 3))
    for size in (-1, 2**63, 2**70):
        with pytest.raises(ArgumentError, match="'q' has shape .*expected sizes from 0"):
            program.result_shapes((2, size, 4, 8), (2, 9, 2, 8), (2, 9, 2, 3))


def test_ir_by_phase(program):
    assert program.phases[:2] == ("frontend", "nsa")
    for phase in program.phases:
        assert "nsa.attend" in program.ir(phase)
    assert program.ir() == program.ir("nsa")
    with pytest.raises(ArgumentError, match="unknown phase 'poem'.*'frontend', 'nsa'"):
        program.ir("poem")


def test_ir_of_tiles():
    program = nsacc.compile(CAUSAL, dtype="f32", target="cpu")
    text = program.ir("tile", HQ=4, H=2, D=8, DV=3)
    assert "nsatile.plan @causal" in text
    assert "nsatile.softmax_update" in text
    with pytest.raises(ArgumentError, match="expected those of 'D', 'DV'"):
        program.ir("tile", HQ=4, H=2)
    with pytest.raises(ArgumentError, match="no dimension 'HD': it has B, T, HQ, D, S, H, DV"):
        program.ir("tile", HQ=4, H=2, D=8, DV=3, HD=8)
    with pytest.raises(ArgumentError, match="doesn't depend on sizes, found HQ"):
        program.ir("nsa", HQ=4)
    oracle = nsacc.compile(CAUSAL, dtype="f32", target="oracle")
    with pytest.raises(ArgumentError, match="has no tiles"):
        oracle.ir("tile", HQ=4, H=2, D=8, DV=3)


def test_repr(program):
    assert repr(program) == ("<nsacc.Program causal<keep_all = true, soft = 0.5, window = 1000>"
                             f"{program.signature} target='{program.target}'>")
    assert program.kernel == "causal"
    assert (program.dtype, program.file, program.schedule) == ("f32", "<source>", "")
    assert program.source == CAUSAL


def test_pickling_compiles_again():
    program = nsacc.compile(CAUSAL, dtype="f32", window=3)
    q, k, v = tensors()
    for again in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert again is not program
        assert again.params == program.params
        assert again.signature == program.signature
        np.testing.assert_array_equal(again(q, k, v), program(q, k, v))


def test_compiles_files(tmp_path: Path):
    path = tmp_path / "causal.nsa"
    path.write_text(CAUSAL)
    for program in (nsacc.compile(path), nsacc.compile(str(path)), nsacc.compile(path=path)):
        assert program.file == str(path)
        assert program.signature.inputs[0].dtype == "bf16"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        nsacc.compile(path)
    with pytest.raises(ArgumentError, match="either"):
        nsacc.compile()
    with pytest.raises(ArgumentError, match="either"):
        nsacc.compile(CAUSAL, path=path)


def test_picks_a_kernel():
    both = CAUSAL + TWO_RESULTS
    assert nsacc.compile(both, kernel="both").kernel == "both"
    with pytest.raises(nsacc.errors.CompileError, match="give kernel='causal' or kernel='both'"):
        nsacc.compile(both)


@pytest.mark.parametrize("dtype", ["f16", "float16", np.float16, np.dtype("float16")])
def test_storage_dtypes_by_many_names(dtype):
    assert nsacc.compile(CAUSAL, dtype=dtype).signature.inputs[0].dtype == "f16"


def test_dtype_parameters():
    source = "kernel f<kind: dtype = f32>(x: kind[N]) -> kind[N] { return x + x; }"
    assert nsacc.compile(source).signature.inputs[0].dtype == "f32"
    assert nsacc.compile(source, kind=np.float16).signature.inputs[0].dtype == "f16"
    assert nsacc.compile(source, kind="bf16").signature.inputs[0].dtype == "bf16"


def test_calls_release_the_gil(program):
    q, k, v = tensors(queries=1500, tokens=1500)
    progress = []
    done = threading.Event()

    def count():
        while not done.is_set():
            progress.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    program(q, k, v)
    end = time.perf_counter()
    done.set()
    counter.join()
    # Holding the GIL would leave one long gap.
    ticks = [start, *(tick for tick in progress if start < tick < end), end]
    assert max(np.diff(ticks)) < max(0.5 * (end - start), 0.05)


def test_threads_share_a_program(program):
    inputs = [tensors(seed) for seed in range(6)]
    expected = [program(*one) for one in inputs]
    wrong = []

    def work(index):
        for _ in range(20):
            if not np.array_equal(program(*inputs[index]), expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_programs_live_side_by_side():
    q, k, v = tensors()
    programs = [nsacc.compile(CAUSAL, dtype="f32", window=window) for window in range(1, 5)]
    for window, program in enumerate(programs, 1):
        np.testing.assert_allclose(program(q, k, v), formula(q, k, v, window), rtol=1e-6,
                                   atol=1e-6)


def test_environment():
    found = nsacc.env()
    assert found["nsacc"] == nsacc.__version__
    assert found["llvm"].startswith("22.")
    assert "oracle" in found["targets"]
    assert all(name.startswith("NSACC_") for name in found["variables"])
    try:
        assert found["torch"] == importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        assert found["torch"] is None


@pytest.mark.parametrize("value", ["64", "abc", "2 * 32", ""])
def test_strings_are_no_numbers(value):
    with pytest.raises(ArgumentError, match="parameter 'window' is the string .*, expected an "
                                            "integer, .*: pass a number without quotes, as in "
                                            "window=64"):
        nsacc.compile(CAUSAL, window=value)


def test_names_of_types_of_other_libraries():
    assert nsacc.compile(CAUSAL, dtype="float16").dtype == "f16"
    for name, meant in (("fp16", "f16"), ("half", "f16"), ("BF16", "bf16")):
        with pytest.raises(ArgumentError, match=f"unknown storage dtype '{name}': expected .*; use "
                                                f"'{meant}'$"):
            nsacc.compile(CAUSAL, dtype=name)


@pytest.mark.parametrize("name, meant", [
    ("H100", "sm_90a"), ("a100", "sm_80"), ("RTX 4090", "sm_89"), ("sm90", "sm_90a"),
    ("cuda:0", "cuda")])
def test_names_of_gpus_suggest_targets(name, meant):
    with pytest.raises(TargetError, match=f"target '{name}' isn't known; use '{meant}'; there is"):
        nsacc.compile(CAUSAL, target=name)
