"""Calls under torch.autocast, and inputs of mixed types outside of it."""

from __future__ import annotations

import re

import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")

import nsacc.torch  # noqa: E402

FLASH = EXAMPLES / "flash.nsa"
GATED = """kernel gated(q: [B, T, H, D], k: [B, S, H, D], v: [B, S, H, D], g: f32[B, T, H], z: f32)
    -> [B, T, H, D] { return z * g * (attend(q, k, v) where j <= i); }"""
CALLS = {
    "program": lambda program: program,
    "run": lambda program: lambda *inputs: program.run(list(inputs)),
    "op": nsacc.torch.op,
    "overload": lambda program: nsacc.torch.op(program).overload,
    "compiled": lambda program: torch.compile(lambda *inputs: program(*inputs), fullgraph=True,
                                              backend="eager"),
    "compiled-op": lambda program: torch.compile(
        lambda *inputs: nsacc.torch.op(program)(*inputs), fullgraph=True, backend="aot_eager",
        dynamic=True),
}


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch._dynamo.reset()
    yield


@pytest.fixture
def inputs():
    return torch.randn(1, 3, 2, 8), torch.randn(1, 5, 2, 8), torch.randn(1, 5, 2, 4)


@pytest.mark.parametrize("to", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("call", CALLS)
def test_autocast_casts_as_sdpa_does(inputs, call, dtype, to):
    """Rotary embeddings make f32 of queries and keys; values are autocast's."""
    expected = nsacc.compile(FLASH, dtype=to)(*(one.to(to) for one in inputs))
    function = CALLS[call](nsacc.compile(FLASH, dtype=dtype))
    for given in (inputs, (*inputs[:2], inputs[2].to(to))):
        with torch.autocast("cpu", to):
            out, lse = function(*given)
            wanted = torch.nn.functional.scaled_dot_product_attention(
                *(one.transpose(1, 2) for one in given))
        assert out.dtype == wanted.dtype == to
        assert torch.equal(out, expected[0]) and torch.equal(lse, expected[1])


@pytest.mark.parametrize("call", CALLS)
def test_inputs_of_f32_stay_so(inputs, call):
    """Gates and slopes that the program declares as f32, also where autocast's layers gave them in
    its type."""
    q, k, _v = inputs
    gate = torch.rand(1, 3, 2).bfloat16()
    program = nsacc.compile(GATED, dtype="f32")
    expected = nsacc.compile(GATED)(*(one.bfloat16() for one in (q, k, k)), gate.float(), 0.5)
    for given in (gate, gate.float()):
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(CALLS[call](program)(q, k, k, given, 0.5), expected)
        with torch.autocast("cpu", torch.bfloat16):
            result = CALLS[call](program)(q, k, k, given, torch.tensor(0.5))
        assert torch.equal(result, expected)


def test_what_autocast_leaves_alone(inputs):
    """Its type may be declared, reals of 64 bits aren't cast, and arrays aren't torch's."""
    program = nsacc.compile(FLASH, dtype="f32")
    expected = program(*inputs)
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(ArgumentError, match="'v' holds f64, expected bf16"):
            program(*inputs[:2], inputs[2].double())
        with torch.autocast("cpu", enabled=False):
            assert torch.equal(program(*inputs).out, expected.out)
        assert (program(*(one.numpy() for one in inputs)).out == expected.out.numpy()).all()


def test_packages_keep_their_types(inputs, tmp_path):
    program = nsacc.compile(FLASH, dtype="f32")
    program.package(tmp_path / "flash.nsapkg", {"HQ": 2, "H": 2, "D": 8, "DV": 4})
    package = nsacc.load(tmp_path / "flash.nsapkg")
    mixed = (*inputs[:2], inputs[2].bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        result = package(*mixed)
    assert torch.equal(result.out, package(*mixed[:2], mixed[2].float()).out)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("call", CALLS)
def test_mixed_types_are_no_circle(inputs, call, dtype):
    """The program of bf16 said "compile it with dtype='f32'", that of f32 "with dtype='bf16'"."""
    mixed = (*inputs[:2], inputs[2].bfloat16())
    name, found = ("q", "f32") if dtype == "bf16" else ("v", "bf16")
    to = {"bf16": "bfloat16", "f32": "float32"}[dtype]
    function = CALLS[call](nsacc.compile(FLASH, dtype=dtype))
    with pytest.raises(ArgumentError, match=f"'{name}' holds {found}, expected {dtype}: .*"
                                            f"\nPass {name}.to\\(torch.{to}\\)\\.(\n|$)"):
        function(*mixed)


def test_another_type_is_told_where_it_fits(inputs):
    words = r"Pass q\.to\(torch\.bfloat16\), or compile the program with dtype='f32'\."
    with pytest.raises(ArgumentError, match=words):
        nsacc.compile(FLASH)(*inputs)
    gate, program = torch.rand(1, 3, 2), nsacc.compile(GATED, dtype="f16")
    q, k, _v = (one.bfloat16() for one in inputs)
    with pytest.raises(ArgumentError, match="or compile the program with dtype='bf16'"):
        program(q, k, k, gate, 1.0)
    with pytest.raises(ArgumentError) as error:
        program(q, k, k, gate.bfloat16(), 1.0)
    assert "dtype=" not in str(error.value)
    fixed = nsacc.compile(re.sub(r"([,:]) \[", r"\1 f32[", FLASH.read_text()))
    with pytest.raises(ArgumentError) as error:
        fixed(*(one.bfloat16() for one in inputs))
    assert "dtype=" not in str(error.value)


def test_a_model_of_transformers_under_autocast():
    transformers = pytest.importorskip("transformers", minversion="5.17")
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=61, hidden_size=48, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, head_dim=8, pad_token_id=0,
        attn_implementation="sdpa")
    model, ids = transformers.LlamaForCausalLM(config).eval(), torch.randint(1, 61, (2, 9))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = model(ids).logits
        for dtype in ("f32", "bf16"):
            program = nsacc.compile("""kernel plain(q: [B, heads HQ, T, D], k: [B, heads H, S, D],
                v: [B, H, S, DV]) -> [B, HQ, T, DV] { return attend(q, k, v) where j <= i; }""",
                                    dtype=dtype)
            nsacc.torch.register_attention("nsacc_autocast", program)
            model.set_attn_implementation("nsacc_autocast")
            logits = model(ids).logits
            assert logits.dtype == expected.dtype
            torch.testing.assert_close(logits, expected, rtol=0.1, atol=0.02)
