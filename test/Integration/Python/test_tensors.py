"""Kinds of tensors as inputs, and the kinds of their results."""

from __future__ import annotations

import array
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest

import nsacc
from nsacc import _inputs
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")

TWICE = "kernel twice(x: [M, N]) -> [M, N] { return x + x; }"

NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
TORCH = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@pytest.fixture(scope="module", params=["f32", "f16", "bf16"])
def dtype(request):
    return request.param


@pytest.fixture(scope="module")
def twice(dtype):
    return nsacc.compile(TWICE, target="oracle", dtype=dtype)


@pytest.fixture(scope="module")
def twice_f32():
    return nsacc.compile(TWICE, target="oracle", dtype="f32")


@pytest.fixture
def values():
    return np.arange(12, dtype=np.float32).reshape(3, 4) - 5


class OnlyDLPack:
    """An exporter that knows neither NumPy nor torch."""

    def __init__(self, tensor, versioned, device=(1, 0)):
        self.tensor, self.versioned, self.device = tensor, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("no options here")
        return self.tensor.__dlpack__(**options)


def test_numpy_gives_numpy(twice, dtype, values):
    out = twice(values.astype(NUMPY[dtype]))
    assert type(out) is np.ndarray
    assert out.dtype == NUMPY[dtype]
    np.testing.assert_array_equal(out.astype(np.float32), 2 * values)


def test_torch_gives_torch(twice, dtype, values):
    out = twice(torch.from_numpy(values).to(TORCH[dtype]))
    assert isinstance(out, torch.Tensor)
    assert (out.dtype, out.device.type, out.requires_grad) == (TORCH[dtype], "cpu", False)
    np.testing.assert_array_equal(out.float().numpy(), 2 * values)


def test_storage_dtypes_of_torch(dtype):
    program = nsacc.compile(TWICE, target="oracle", dtype=TORCH[dtype])
    assert program.signature.inputs[0].dtype == dtype


@pytest.mark.parametrize("versioned", [False, True])
def test_any_dlpack_gives_numpy(twice, dtype, values, versioned):
    tensor = torch.from_numpy(values).to(TORCH[dtype])
    out = twice(OnlyDLPack(tensor.T.contiguous().T, versioned))
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out.astype(np.float32), 2 * values)


def test_array_api_gives_the_same_library(twice_f32, values):
    class Library:
        @staticmethod
        def asarray(result):
            return ("made by Library", result)

    class Array(OnlyDLPack):
        def __array_namespace__(self, api_version=None):
            return Library

    name, out = twice_f32(Array(values, True))
    assert name == "made by Library"
    np.testing.assert_array_equal(out, 2 * values)


def test_buffers_give_numpy(twice_f32, values):
    flat = array.array("f", values.ravel().tolist())
    out = twice_f32(memoryview(flat).cast("B").cast("f", (3, 4)))
    np.testing.assert_array_equal(out, 2 * values)


def test_the_first_tensor_decides(values):
    program = nsacc.compile("kernel f(x, y: f32[M, N]) -> f32[M, N] { return x + y; }",
                            target="oracle")
    mixed = program(values, torch.from_numpy(values))
    assert type(mixed) is np.ndarray
    assert isinstance(program(torch.from_numpy(values), values), torch.Tensor)
    np.testing.assert_array_equal(mixed, 2 * values)


def test_numbers_as_scalars():
    program = nsacc.compile("""
kernel f(n: i32, r: f32, c: bf16, x: f32[N]) -> f32[N] { return n * x + r + c; }""",
                            target="oracle")
    x = torch.ones(2)
    out = program(3, 0.5, 1 / 3, x)
    assert isinstance(out, torch.Tensor)
    expected = 3.5 + float(ml_dtypes.bfloat16(1 / 3))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-7)
    again = program(np.int32(3), np.float32(0.5), torch.tensor(1 / 3, dtype=torch.bfloat16), x)
    assert torch.equal(again, out)
    wide = program(np.int64(3), np.float64(0.5), ml_dtypes.bfloat16(1 / 3), x)
    assert torch.equal(wide, out)
    assert type(program(torch.tensor(3, dtype=torch.int32), 0.5, 1 / 3, x.numpy())) is np.ndarray


@pytest.mark.parametrize("dtype, largest", [("f32", 2.0**128 - 2.0**104), ("f16", 65504.0),
                                            ("bf16", 2.0**128 - 2.0**120)])
def test_numbers_beyond_their_type_are_refused(dtype, largest):
    """A number is no infinity; one that rounds to the largest of the type fits."""
    program = nsacc.compile(f"kernel f(r: {dtype}, x: f32[N]) -> f32[N] {{ return x * r; }}",
                            target="oracle")
    x = np.ones(1, np.float32)
    for fits in (largest, -largest, largest * (1 + 1e-6 / 2**10), float("inf"), float("nan")):
        program(fits, x)
    for beyond in (largest * 1.01, -largest * 1.01, 1e300, 10**400, -2**1000):
        with pytest.raises(ArgumentError, match=f"'r' is .*, which {dtype} can't hold"):
            program(beyond, x)


def test_bf16_numbers_round_like_ml_dtypes():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 20000, np.uint64).view(np.float64)
    scaled = rng.standard_normal(20000) * 2.0 ** rng.integers(-140, 130, 20000)
    ties = (1 + 2.0**-8) * 2.0 ** np.arange(-126, 127)
    special = [0.0, -0.0, np.inf, -np.inf, 3.4e38, -3.39e38, 1e-45, 5e-324, 1e300,
               *ties, *(ties * (1 + 2.0**-40)), *(ties * (1 - 2.0**-40))]
    with np.errstate(all="ignore"):
        for value in (*bits, *scaled, *special):
            if np.isnan(value):
                continue
            # Through a float32 rounded to odd, which the second rounding can't mistake.
            exact = _nearest_bf16(float(value))
            assert _inputs.round_to_bf16(float(value)) == exact, value.hex()
    assert np.isnan(_inputs.round_to_bf16(np.nan).view(ml_dtypes.bfloat16))


def _nearest_bf16(value):
    """The bits of the nearest of the neighbours of a first guess."""
    if np.isinf(value):
        return np.array(value, ml_dtypes.bfloat16).view(np.uint16)
    guess = int(np.array(np.float32(value)).view(np.uint32)) >> 16
    best = None
    for bits in range(max(guess - 1, guess & 0x8000), (guess & 0x8000) + min(
            (guess & 0x7FFF) + 2, 0x7F80) + 1):
        number = float(np.array(bits, np.uint16).view(ml_dtypes.bfloat16))
        # Infinity stands where the next number would be.
        distance = abs((np.copysign(2.0**128, number) if np.isinf(number) else number) - value)
        if best is None or (distance, bits & 1) < best[:2]:
            best = (distance, bits & 1, bits)
    return best[2]


@pytest.mark.parametrize("view", [
    lambda x: x.T, lambda x: x[::-1, ::-1], lambda x: x[:, ::2], lambda x: x[1:, 1:3],
    lambda x: np.broadcast_to(x[0], (5, 4)), lambda x: np.broadcast_to(x[:1, :1], (2, 3)),
    lambda x: x[:0], lambda x: x[:, :0], np.asfortranarray])
def test_strides_of_numpy(twice, dtype, values, view):
    x = view(values.astype(NUMPY[dtype]))
    out = twice(x)
    assert out.flags.c_contiguous
    np.testing.assert_array_equal(out.astype(np.float32), 2 * x.astype(np.float32))


@pytest.mark.parametrize("view", [
    lambda x: x.T, lambda x: x[:, ::2], lambda x: x[1:, 1:3], lambda x: x[:1].expand(7, 4),
    lambda x: x.as_strided((2, 2), (1, 1)), lambda x: x[:0], lambda x: torch.imag(
        torch.complex(x, x).conj())])
def test_strides_of_torch(twice_f32, values, view):
    x = view(torch.from_numpy(values))
    assert torch.equal(twice_f32(x), 2 * x)


def test_read_only_and_unaligned_inputs(twice_f32, values):
    values.setflags(write=False)
    np.testing.assert_array_equal(twice_f32(values), 2 * values)
    packed = np.zeros(3, [("tag", "u1"), ("row", "f4", 4)])
    packed["row"] = values
    np.testing.assert_array_equal(twice_f32(packed["row"]), 2 * values)
    storage = bytearray(values.nbytes + 1)
    shifted = np.frombuffer(storage, np.uint8, offset=1).view(np.float32).reshape(3, 4)
    shifted[:] = values
    np.testing.assert_array_equal(twice_f32(shifted), 2 * values)


def test_inputs_are_not_changed_and_results_are_fresh(twice_f32, values):
    before = values.copy()
    first, second = twice_f32(values), twice_f32(values)
    np.testing.assert_array_equal(values, before)
    assert not np.shares_memory(first, second)
    first[:] = 0
    np.testing.assert_array_equal(second, 2 * values)


def test_memory_is_let_go(twice_f32, values):
    counts = []
    tensor = torch.from_numpy(values)
    for _ in range(3):
        twice_f32(values)
        twice_f32(tensor)
        twice_f32(OnlyDLPack(tensor, True))
        counts.append((sys.getrefcount(values), sys.getrefcount(tensor)))
    assert len(set(counts)) == 1


def test_integers_and_booleans():
    program = nsacc.compile("""
kernel f(q, k, v: f32[B, T, H, D], doc: i32[B, T], far: i64[B, T], seen: bool[B, T])
    -> f32[B, T, H, D] {
  return attend(q, k, v) where doc[b, i] == doc[b, j] and far[b, j] <= 2 and seen[b, j];
}""")
    q = np.ones((1, 4, 1, 8), np.float32)
    v = np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1).repeat(8, 3)
    doc = np.array([[0, 0, 0, 1]], np.int32)
    far = np.array([[0, 1, 2**40, 0]], np.int64)
    seen = np.array([[True, True, True, True]])
    expected = [0.5, 0.5, 0.5, 3]
    np.testing.assert_allclose(program(q, q, v, doc, far, seen)[0, :, 0, 0], expected)
    tensors = map(torch.from_numpy, (q, q, v, doc, far, seen))
    np.testing.assert_allclose(program(*tensors)[0, :, 0, 0], expected)


# -- torch: devices, gradients, layouts ---------------------------------------------------------


def test_gradients_are_refused_where_torch_would_record_them(twice_f32, values):
    x = torch.from_numpy(values).requires_grad_()
    with pytest.raises(ArgumentError, match=r"'x' requires gradients.*no_grad\(\).*x\.detach\(\)"):
        twice_f32(x)
    with torch.no_grad():
        assert torch.equal(twice_f32(x), 2 * x)
    with torch.inference_mode():
        assert torch.equal(twice_f32(x), 2 * x)
    assert torch.equal(twice_f32(x.detach()), 2 * x.detach())
    parameter = torch.nn.Parameter(torch.from_numpy(values))
    with pytest.raises(ArgumentError, match="gradients"):
        twice_f32(parameter)


def test_other_devices_are_refused(twice_f32, values):
    with pytest.raises(ArgumentError, match=r"'x' is on device meta.*\.cpu\(\)"):
        twice_f32(torch.empty(3, 4, device="meta"))
    elsewhere = OnlyDLPack(torch.from_numpy(values), True, device=(2, 3))
    with pytest.raises(ArgumentError, match=r"'x' is on device cuda:3"):
        twice_f32(elsewhere)


def test_layouts_and_dtypes_of_torch(twice_f32, values):
    with pytest.raises(ArgumentError, match=r"sparse.*to_dense"):
        twice_f32(torch.from_numpy(values).to_sparse())
    with pytest.raises(ArgumentError, match=r"'x' holds f64.*\n.*x\.to\(torch\.float32\)"):
        twice_f32(torch.from_numpy(values).double())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.from_numpy(values), 0.1, 0, torch.qint8)
    with pytest.raises(ArgumentError, match=r"'x' is quantized.*x\.dequantize\(\)"):
        twice_f32(quantized)
    for dtype in (torch.int8, torch.complex64, torch.uint8):
        with pytest.raises(ArgumentError, match="'x'"):
            twice_f32(torch.zeros(3, 4, dtype=dtype))


def test_masks_of_bytes_say_what_to_pass():
    """Masks are bytes in many libraries; the caller has to say which bytes are true."""
    masked = nsacc.compile("kernel f(q: f32[B, T, H, D], m: bool[B, T]) -> f32[B, T, H, D] "
                           "{ return attend(q, q, q) where m[b, j]; }")
    q, m = np.ones((1, 3, 2, 4), np.float32), np.ones((1, 3), np.uint8)
    expected = r"'m' holds {}uint8, expected bool: .* m: bool\[B, T\]\.\nPass {}"
    with pytest.raises(ArgumentError, match=expected.format("", r"m\.astype\(bool")):
        masked(q, m)
    with pytest.raises(ArgumentError, match=expected.format(r"torch\.", r"m\.to\(torch\.bool")):
        masked(torch.from_numpy(q), torch.from_numpy(m))
    np.testing.assert_allclose(masked(q, m.astype(bool)), q)


def test_failing_exporters_are_errors_of_their_input(twice_f32, values):
    class Broken(OnlyDLPack):
        def __dlpack__(self, **options):
            raise BufferError("the memory has gone")

    with pytest.raises(ArgumentError, match="'x' can't be read: the memory has gone"):
        twice_f32(Broken(values, True))

    class NoCapsule(OnlyDLPack):
        def __dlpack__(self, **options):
            return 3

    with pytest.raises(ArgumentError, match="'x' can't be read"):
        twice_f32(NoCapsule(values, True))


# -- Without torch or ml_dtypes -----------------------------------------------------------------


def _run(code):
    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_torch_is_never_imported():
    code = f"""
import sys
import numpy as np
import nsacc
program = nsacc.compile({TWICE!r}, target="oracle", dtype="f32")
program(np.ones((2, 3), np.float32))
nsacc.env()
print("torch" in sys.modules)
"""
    assert _run(code) == ["False"]


def test_bf16_results_without_ml_dtypes():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import nsacc
program = nsacc.compile("kernel f(x: f32[N]) -> bf16[N] { return x / 3; }", target="oracle")
out = program(np.array([1, 2], np.float32))
print(out.dtype, *out)
"""
    third = ml_dtypes.bfloat16(1 / 3)
    assert _run(code) == ["float32", str(np.float32(third)), str(2 * np.float32(third))]
