"""GPU targets without a GPU: devices of tensors, and refusals."""

import ctypes
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import nsacc
from nsacc import _device, _inputs
from nsacc.errors import ArgumentError, TargetError

ADD = "kernel add(x: f32[N], y: f32[N], z: f32[]) -> f32[N] { return x + y * z; }"


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


# A capsule keeps the address of its name, and its consumer the address of the tensor.
_NAME = ctypes.c_char_p(b"dltensor")
_EXPORTED: list[_Managed] = []


class Elsewhere:
    """A tensor f32[size] in the memory of some device, according to DLPack."""

    def __init__(self, size: int, device: int = 0, kind: int = 2) -> None:
        self._shape = (ctypes.c_int64 * 1)(size)
        self._device = (kind, device)
        self._managed = _Managed(_DLTensor(0x10000, kind, device, 1, 2, 32, 1, self._shape, None,
                                           0), None, None)
        _EXPORTED.append(self._managed)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, **_options) -> object:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self._managed), _NAME, None)


@pytest.fixture(scope="module", name="program")
def gpu_program():
    return nsacc.compile(ADD, target="sm_90a")


def test_views_know_their_device(program):
    spec = program.signature.inputs[0]
    there = _inputs.view(spec, Elsewhere(4, device=3), on_gpu=True)
    assert there.tensor.device == 3 and there.tensor.shape == (4,)
    assert _inputs.view(spec, np.zeros(4, np.float32), on_gpu=True).tensor.device is None


def test_result_shapes_of_inputs_on_a_gpu(program):
    name = program.signature.results[0].name
    assert program.result_shapes(Elsewhere(7), (7,), ()) == {name: (7,)}


def test_devices_have_to_be_one(program):
    with pytest.raises(ArgumentError, match="'x' on cuda:0, 'y' on cuda:1"):
        program(Elsewhere(4), Elsewhere(4, device=1), 1.0)
    with pytest.raises(ArgumentError, match="'x' on cuda:0, 'y' on the host"):
        program(Elsewhere(4), np.zeros(4, np.float32), 1.0)


def test_results_on_a_gpu_are_torchs(program):
    with pytest.raises(ArgumentError, match="tensors of torch"):
        program(Elsewhere(4), Elsewhere(4), 1.0)


def test_other_devices(program):
    with pytest.raises(ArgumentError, match="'x' is on device vulkan:0, expected the host or"):
        program(Elsewhere(4, kind=7), Elsewhere(4), 1.0)
    with pytest.raises(ArgumentError, match="'x' is on device cuda:0.*target='cuda'"):
        nsacc.compile(ADD)(Elsewhere(4), Elsewhere(4), 1.0)


def test_streams(program):
    class Stream:
        cuda_stream = 1234

    place = _device.find_place(program.signature.inputs[:1],
                               [_inputs.view(program.signature.inputs[0], Elsewhere(4), True)],
                               Stream())
    assert place == _device.Place(0, 1234)
    x = np.zeros(4, np.float32)
    with pytest.raises(ArgumentError, match="stream is for inputs on a GPU"):
        program.run((x, x, 1.0), stream=5)
    for wrong in ("five", -1, True):
        with pytest.raises(ArgumentError, match="expected a stream of torch"):
            program.run((Elsewhere(4), Elsewhere(4), 1.0), stream=wrong)


def test_nothing_failed_where_nothing_ran(program):
    program.check()


def test_the_extension_starts_without_a_driver():
    text = ("import nsacc; assert 'cuda' in nsacc.env()['targets']; "
            f"nsacc.compile({ADD!r}, target='sm_90a')")
    subprocess.run([sys.executable, "-c", text], check=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_cuda_without_a_driver():
    """This is known when compiling: the code is for the present GPU."""
    with pytest.raises(TargetError, match="target 'cuda' isn't there: .*'sm_90a'"):
        nsacc.compile(ADD, target="cuda")


H200 = {"name": "NVIDIA H200", "compute_capability": "9.0", "shared_bytes_per_block": 232448,
        "shared_bytes_per_multiprocessor": 233472, "registers_per_multiprocessor": 65536,
        "multiprocessors": 132, "l2_bytes": 62914560}
ATTEND = """kernel full(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {
  return attend(q, k, v);
}"""


def _tiles(**options) -> str:
    return nsacc.compile(ATTEND, **options).ir("tile", HQ=8, H=8, D=64, DV=64)


def test_a_device_of_a_file_gets_its_own_tiles(tmp_path):
    path = tmp_path / "h200.json"
    path.write_text(json.dumps(H200))
    hopper = _tiles(target="cuda", device=path)
    assert hopper == _tiles(target="sm_90a")
    path.write_text(json.dumps(H200 | {"compute_capability": "10.0"}))
    assert _tiles(target="cuda", device=str(path)) == _tiles(target="sm_100") != hopper
    program = nsacc.compile(ATTEND, target="cuda", device=path)
    assert pickle.loads(pickle.dumps(program)).ir("tile", HQ=8, H=8, D=64, DV=64) != hopper


def test_wrong_devices(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(H200 | {"multiprocessors": "many"}))
    with pytest.raises(ArgumentError, match=r"x\.json': key 'multiprocessors' is \"many\""):
        nsacc.compile(ADD, target="cuda", device=path)
    with pytest.raises(ArgumentError, match="can't read the device's file ''"):
        nsacc.compile(ADD, target="cuda", device="")
    with pytest.raises(ArgumentError, match="goes with target 'cuda', found target 'sm_80'"):
        nsacc.compile(ADD, target="sm_80", device=path)
    with pytest.raises(ArgumentError, match="goes with target 'cuda', found target 'cpu'"):
        nsacc.compile(ADD, device=path)


@pytest.mark.parametrize("phase, target", [("ptx", "sm_90a"), ("cubin", "sm_90a"),
                                           ("package", "sm_90a"), ("asm", "cpu")])
def test_code_comes_from_the_command_line(program, phase, target):
    with pytest.raises(ArgumentError, match=f"nsacc compile FILE --target {target} --emit {phase}"):
        program.ir(phase)
