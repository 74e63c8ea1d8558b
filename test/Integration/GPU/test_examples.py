"""Every example on the GPU, against the oracle."""

import pytest
import torch

from programs import NAMES, check, compile_example, make_inputs, run, to_device


@pytest.mark.parametrize("tokens", [1, 64, 127, 300, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_oracle(name, tokens):
    program = compile_example(name)
    inputs = make_inputs(program, tokens)
    check(name, run(program, to_device(inputs)), inputs, "bf16")


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("name", NAMES)
def test_other_types(name, dtype):
    program = compile_example(name, dtype)
    inputs = make_inputs(program, 200)
    check(name, run(program, to_device(inputs)), inputs, dtype)


@pytest.mark.parametrize("name", ["flash", "window_sink"])
def test_older_code_runs_here_too(name):
    program = compile_example(name, "bf16", "sm_80")
    inputs = make_inputs(program, 300)
    check(name, run(program, to_device(inputs)), inputs, "bf16")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_each_time(name):
    program = compile_example(name)
    inputs = to_device(make_inputs(program, 500))
    first = run(program, inputs)
    for _ in range(50):
        assert torch.equal(run(program, inputs), first)
