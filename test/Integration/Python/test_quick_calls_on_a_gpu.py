"""Calls with tensors of torch that are on a GPU, up to their launches, with a fake driver and a
fake torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import EXAMPLES

NSACC = shutil.which("nsacc")
FAKE_DRIVER = Path(NSACC).resolve().parents[1] / "test" / "FakeCUDA" if NSACC else None

START = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import fake_torch
torch = fake_torch.install()
import nsacc

program = nsacc.compile({str(EXAMPLES / "flash.nsa")!r}, target="cuda")

def make(device, tokens=70):
    return tuple(torch.Tensor((2, tokens, heads, 64), "bfloat16", device) for heads in (8, 2, 2))
"""


@pytest.fixture
def run(tmp_path):
    assert FAKE_DRIVER, "nsacc isn't on PATH: build it, and add build/dev/bin"
    if not FAKE_DRIVER.exists():
        pytest.skip("the driver of test/FakeCUDA isn't built")
    log = tmp_path / "launches"

    def run(code: str) -> list[str]:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FAKE_DRIVER), "FAKE_CUDA_LOG": str(log),
                       "FAKE_CUDA_DEVICES": "9.0,9.0"}
        done = subprocess.run([sys.executable, "-c", START + code], text=True, capture_output=True,
                              env=environment)
        assert done.returncode == 0, done.stderr
        return log.read_text().splitlines() if log.exists() else []

    return run


def test_calls_are_launched(run):
    launches = run("""
for device in (0, 1, 0):
    q, k, v = make((2, device))
    out, lse = program(q, k, v)
    assert (out.shape, out.dtype, out.device) == ((2, 70, 8, 64), "bfloat16", (2, device))
    assert (lse.shape, lse.dtype, lse.device) == ((2, 70, 8), "float32", (2, device))
""")
    # Launches of the attention, and of the exact program.
    assert [line.split()[1] for line in launches] == ["flash_attend_0", "flash_attend_1"] * 3


def test_shapes_that_were_known_are_of_their_device(run):
    assert len(run("""
for tokens in (70, 33, 70):
    for device in (0, 1):
        out, lse = program(*make((2, device), tokens))
        assert out.shape == (2, tokens, 8, 64) and out.device == lse.device == (2, device)
""")) == 12


def test_what_is_left_alone(run):
    assert not run("""
q, k, v = make((2, 0))
there, host, metal = make((2, 1)), make((1, 0)), make((8, 0))
for inputs in ((q, k, there[2]), (q, host[1], v), metal, (q, k), (q, k, 1.0)):
    assert program._call_quickly(inputs) is None
host_program = nsacc.compile("kernel f(x: f32[N]) -> f32[N] { return x; }")
assert host_program._call_quickly((torch.Tensor((3,), "float32", (2, 0)),)) is None
scaled = nsacc.compile("kernel f(x: f32[N], z: f32) -> f32[N] { return x * z; }", target="cuda")
assert scaled._call_quickly((torch.Tensor((3,), "float32", (2, 0)), 1e39)) is None
""")


def test_numbers_get_there(run):
    assert len(run("""
made = []

def full(shape, value, dtype, device):
    made.append((shape, value, dtype, device))
    return torch.Tensor(shape, dtype, device)

torch.full = full
scaled = nsacc.compile("kernel f(x: f32[N], z: f32, n: i32) -> f32[N] { return x * z + n; }",
                       target="cuda")
for device in (1, 0):
    assert scaled(torch.Tensor((3,), "float32", (2, device)), 2.0, 7).device == (2, device)
assert made == [((), 2.0, "float32", (2, 1)), ((), 7, "int32", (2, 1)),
                ((), 2.0, "float32", (2, 0)), ((), 7, "int32", (2, 0))]
""")) == 2


def test_the_current_stream_is_asked_for(run):
    """The current stream is read in every call, as it changes; it is the stream of the inputs'
    device."""
    run("""
for device in (1, 0, 1):
    program(*make((2, device)))
assert fake_torch.asked_for_streams == [1, 0, 1]
""")
