"""Programs that have some channels of the values each (channels=); programs side by side have the
others."""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import normal, program
from sweep.cases import cover

DENSE = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
SOURCES = {
    "softmax": f"kernel f({DENSE}) -> (o: [B, T, HQ, DV], l: f32[B, T, HQ]) "
               "{ a = attend(q, k, v) where j <= i sink 0.5; return a, lse(a); }",
    "weight": f"kernel f({DENSE}) -> [B, T, HQ, DV] "
              "{ return attend(q, k, v) where j <= i weight silu(s) normalize max(visible, 1); }",
    # Tensors with channels beside the output; one without tokens, and one with only channels.
    "gates": f"kernel f({DENSE}, g: f32[B, T, HQ], x: f32[B, T, HQ, DV], y: f32[DV], "
             "z: f32[HQ, DV]) -> (o: [B, T, HQ, DV], p: f32[B, T, HQ, DV]) "
             "{ a = attend(q, k, v) where j <= i; c = attend(q, k, v) where i - j < 5; "
             "return g * a * y + x - z * c, merge(a, c) * 2.0; }",
    "two_widths": f"kernel f({DENSE}, u: [B, S, H, DU]) -> (o: [B, T, HQ, DV], p: [B, T, HQ, DU]) "
                  "{ return attend(q, k, v) where j <= i, attend(q, k, u) where j <= i; }",
    "keys_as_values": f"kernel f({DENSE}) -> [B, T, HQ, D] {{ return attend(q, k, k); }}",
    "selected": "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
                "idx: i32[B, T, H, 3]) -> (o: [B, T, HQ, DV], l: f32[B, T, HQ]) "
                "{ a = attend(q, k, v) in selection(idx, 8) where j <= i; return a, lse(a); }",
}
SIZES = {"B": 2, "HQ": 6, "H": 2, "D": 8, "DU": 24}


def draw(source, rng, tokens, keys, width):
    sizes = {**SIZES, "T": tokens, "S": keys, "DV": width}
    inputs = []
    for spec in program(source).signature.inputs:
        shape = [dim.size if dim.kind == "constant" else sizes[dim.name] for dim in spec.dims]
        inputs.append(rng.integers(-1, -(-keys // 8), shape).astype(np.int32)
                      if spec.name == "idx" else normal(rng, *shape))
    return inputs


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


SCHEDULES = ["tokens=4,keys=16", "splits=3,tokens=5", "tokens=16,part=4"]


CHANNELS = [1, 7, 16, 17, 100]
ORDERS = ["order=union", "order=union,splits=2", "order=block_major", "order=query_major",
          "tokens=4,keys=16", "tokens=16,part=4"]


@pytest.mark.parametrize("name, channels, schedule", [
    *cover(([name for name in SOURCES if name != "selected"], CHANNELS, SCHEDULES)),
    *cover((["selected"], CHANNELS, ORDERS))])
def test_agrees_with_the_oracle(name, channels, schedule):
    rng = np.random.default_rng(channels)
    run = program(SOURCES[name], target="cpu", schedule=f"{schedule},channels={channels}")
    for tokens, keys, width in [(1, 40, 17), (33, 33, 16), (0, 3, 5), (9, 20, 40), (17, 17, 1)]:
        inputs = draw(SOURCES[name], rng, tokens, keys, width)
        expected = as_tuple(program(SOURCES[name])(*inputs))
        for found, wanted in zip(as_tuple(run(*inputs)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_the_same_bits_as_one_program_of_all_channels():
    rng = np.random.default_rng(0)
    inputs = draw(SOURCES["softmax"], rng, 33, 50, 40)
    whole = program(SOURCES["softmax"], target="cpu", schedule="tokens=4,keys=16")(*inputs)
    for channels in (8, 24, 32):
        part = program(SOURCES["softmax"], target="cpu",
                       schedule=f"tokens=4,keys=16,channels={channels}")(*inputs)
        for found, wanted in zip(part, whole, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ragged(schedule):
    source = ("kernel f(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV]) -> "
              "(o: [ragged T, HQ, DV], l: f32[ragged T, HQ]) "
              "{ a = attend(q, k, v) where j <= i; return a, lse(a); }")
    rng = np.random.default_rng(2)
    rows = [(5, 9), (0, 4), (17, 17), (1, 40)]
    offsets = [np.cumsum([0, *each], dtype=np.int32) for each in zip(*rows)]
    inputs = [normal(rng, offsets[0][-1], 6, 8), normal(rng, offsets[1][-1], 2, 8),
              normal(rng, offsets[1][-1], 2, 20), *offsets]
    run = program(source, target="cpu", schedule=f"{schedule},channels=7")
    for found, wanted in zip(run(*inputs), program(source)(*inputs), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_failures_name_elements_that_exist():
    """The last program also has channels behind the last one; they divide by no value."""
    source = (f"kernel f({DENSE}, n: i32[DV]) -> [B, T, HQ, DV] "
              "{ return attend(q, k, v) + 12 floordiv n; }")
    rng = np.random.default_rng(2)
    inputs = draw(source.replace("n: i32[DV]", "n: f32[DV]").replace("12 floordiv n", "n"),
                  rng, 5, 9, 20)
    numbers = np.arange(1, 21, dtype=np.int32)
    run = program(source, target="cpu", schedule="channels=16")
    np.testing.assert_allclose(run(*inputs[:3], numbers), program(source)(*inputs[:3], numbers),
                               atol=2e-5)
    numbers[18] = 0
    with pytest.raises(nsacc.errors.ArgumentError, match="divided by zero") as error:
        run(*inputs[:3], numbers)
    with pytest.raises(nsacc.errors.ArgumentError) as exact:
        program(source)(*inputs[:3], numbers)
    assert str(error.value) == str(exact.value)


def test_states_of_key_major_have_all_channels():
    source = SOURCES["selected"]
    with pytest.warns(nsacc.errors.CompileWarning, match="states of key_major have all channels"):
        nsacc.compile(source, target="cpu", dtype="f32", schedule="order=key_major,channels=8")(
            *draw(source, np.random.default_rng(0), 9, 9, 16))
