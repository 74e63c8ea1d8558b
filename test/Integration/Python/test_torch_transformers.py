"""Programs as attention of transformers: nsacc.torch.register_attention."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.17",
                                   reason="transformers 5.17 isn't installed")

import nsacc.torch  # noqa: E402

TOKENS_FIRST = """kernel plain(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])
    -> [B, T, HQ, DV] { return attend(q, k, v) where j <= i; }"""
HEADS_FIRST = """kernel torch_order(q: [B, heads HQ, T, D], k: [B, heads H, S, D],
    v: [B, H, S, DV]) -> [B, HQ, T, DV] { return attend(q, k, v) where j <= i; }"""
# Results in the other order than the inputs.
TO_HEADS_FIRST = TOKENS_FIRST.replace("T, HQ, D]", "T, heads HQ, D]").replace(
    "S, H, D]", "S, heads H, D]").replace("-> [B, T, HQ, DV]", "-> [B, HQ, T, DV]")
TO_TOKENS_FIRST = HEADS_FIRST.replace("-> [B, HQ, T, DV]", "-> [B, T, HQ, DV]")
ORDERS = pytest.mark.parametrize(
    "text", [TOKENS_FIRST, HEADS_FIRST, TO_HEADS_FIRST, TO_TOKENS_FIRST],
    ids=["tokens", "heads", "tokens to heads", "heads to tokens"])
PADDED = """kernel padded(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], m: bool[B, S],
    z: f32) -> (out: [B, T, HQ, DV], lse: f32[B, T, HQ])
{ a = attend(q, k, v) where j <= i and m[b, j] scale z; return a, lse(a); }"""
GATED = """kernel gated(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], g: f32[B, T, HQ])
    -> [B, T, HQ, DV] { return g * (attend(q, k, v) where j <= i); }"""


def make_model(query_heads: int = 6, key_heads: int = 2, kind: str = "Llama", **more):
    torch.manual_seed(7)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=61, hidden_size=8 * query_heads, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=query_heads, num_key_value_heads=key_heads, head_dim=8,
        max_position_embeddings=64, pad_token_id=0, attn_implementation="eager", **more)
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


def use(model, name: str, text: str, **options):
    nsacc.torch.register_attention(name, nsacc.compile(text, dtype="f32"), **options)
    model.set_attn_implementation(name)
    return model


def make_ids(batch: int, tokens: int):
    return torch.randint(1, 61, (batch, tokens), generator=torch.Generator().manual_seed(tokens))


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@ORDERS
@pytest.mark.parametrize("heads", [(1, 1), (2, 2), (6, 2), (7, 1)], ids=str)
@pytest.mark.parametrize("tokens", [1, 2, 13])
def test_logits(text, heads, tokens):
    model, ids = make_model(*heads), make_ids(3, tokens)
    expected = model(ids).logits
    torch.testing.assert_close(use(model, "nsacc_test", text)(ids).logits, expected)


@ORDERS
def test_generation_with_a_cache(text):
    model, ids = make_model(), make_ids(2, 11)
    options = {"max_new_tokens": 7, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    expected = model.generate(ids, **options)
    assert torch.equal(use(model, "nsacc_test", text).generate(ids, **options), expected)


def test_several_queries_behind_a_cache():
    model, ids = make_model(), make_ids(2, 17)
    expected = model(ids).logits[:, 12:]
    use(model, "nsacc_test", TOKENS_FIRST)
    cache = model(ids[:, :12], use_cache=True).past_key_values
    torch.testing.assert_close(model(ids[:, 12:], past_key_values=cache).logits, expected)


def test_padding_and_scaling_as_inputs():
    model, ids = make_model(), make_ids(3, 13)
    for layer in model.model.layers:
        layer.self_attn.scaling = 0.71
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    mask[1, :1] = 0
    expected, full = model(ids, attention_mask=mask).logits, model(ids).logits
    use(model, "nsacc_test", PADDED, inputs={"m": "padding", "z": "scaling"})
    seen = mask.bool()
    torch.testing.assert_close(model(ids, attention_mask=mask).logits[seen], expected[seen])
    torch.testing.assert_close(model(ids).logits, full)


def test_inputs_that_are_functions():
    model, ids = make_model(), make_ids(2, 5)
    seen = []

    def gate(module, query, key, value, scaling, **more):
        seen.append((module.layer_idx, tuple(query.shape), tuple(key.shape), scaling))
        return torch.ones(query.shape[0], query.shape[2], query.shape[1])

    expected = model(ids).logits
    use(model, "nsacc_test", GATED, inputs={"g": gate})
    torch.testing.assert_close(model(ids).logits, expected)
    assert seen == [(layer, (2, 6, 5, 8), (2, 2, 5, 8), 8**-0.5) for layer in (0, 1)]


def test_compiled_models_have_no_breaks():
    model, ids = make_model(), make_ids(3, 13)
    expected = model(ids).logits
    use(model, "nsacc_test", TOKENS_FIRST, own=["mask"])
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for tokens in (13, 7):
        logits = compiled(ids[:, :tokens], use_cache=False).logits
        torch.testing.assert_close(logits, expected[:, :tokens])


# -- Refusals ---------------------------------------------------------------------------------


def test_masks_that_the_program_lacks():
    model, ids = use(make_model(), "nsacc_test", TOKENS_FIRST), make_ids(2, 5)
    mask = torch.ones_like(ids)
    model(ids, attention_mask=mask)
    mask[0, 0] = 0
    with pytest.raises(ArgumentError, match=r"padding.*m: bool\[B, S\].*inputs={'m': 'padding'}"):
        model(ids, attention_mask=mask)
    with pytest.raises(ArgumentError, match=r"takes none of shape \[2, 1, 5, 5\]"):
        model(ids, attention_mask=torch.ones(2, 1, 5, 5))


def test_static_caches():
    model, ids = use(make_model(), "nsacc_test", TOKENS_FIRST), make_ids(2, 5)
    with pytest.raises(ArgumentError, match="room behind them: use a DynamicCache"):
        model.generate(ids, max_new_tokens=4, cache_implementation="static")


def test_dropout_scaling_and_gradients():
    model, ids = use(make_model(attention_dropout=0.5), "nsacc_test", TOKENS_FIRST), make_ids(1, 3)
    with pytest.raises(ArgumentError, match=r"no dropout, found 0.5: call model.eval\(\)"):
        model.train()(ids)
    model.eval()
    with torch.enable_grad(), pytest.raises(ArgumentError, match="requires gradients"):
        model(ids)
    model.model.layers[1].self_attn.scaling = 0.7
    with pytest.raises(ArgumentError, match=r"scales scores by 0\.7.*scale z.*'scaling'"):
        model(ids)


def test_arguments_that_results_depend_on():
    def attend(**more):
        q = torch.ones(1, 2, 3, 8)
        interface = transformers.AttentionInterface()["nsacc_test"]
        return interface(torch.nn.Module(), q, q, q, None, **more)[0]

    program = nsacc.compile(TOKENS_FIRST, dtype="f32")
    nsacc.torch.register_attention("nsacc_test", program)
    assert attend(softcap=None, sliding_window=None).shape == (1, 3, 2, 8)
    with pytest.raises(ArgumentError, match=r"passes 'softcap'.*own=\['softcap'\]"):
        attend(softcap=30.0)
    with pytest.raises(ArgumentError, match="no weights to give"):
        attend(output_attentions=True)
    nsacc.torch.register_attention("nsacc_test", program, own=["softcap"])
    attend(softcap=30.0)


@pytest.mark.parametrize("dynamic", [None, True])
def test_refusals_under_the_compiler(dynamic):
    """Torch's compiler hands them on, and tells the place behind their words."""
    ids = make_ids(2, 9)

    def refuse(model, message, **more):
        torch._dynamo.reset()
        compiled = torch.compile(lambda ids: model(ids, use_cache=False, **more).logits,
                                 fullgraph=True, dynamic=dynamic, backend="eager")
        with pytest.raises(ArgumentError, match=f"^(?!.*Observed){message}"):
            compiled(ids)

    refuse(use(make_model(), "nsacc_test", HEADS_FIRST),
           r"the model asks.* register it with own=\['mask'\]")
    refuse(use(make_model(), "nsacc_test", GATED, inputs={"g": "softcaps"}, own=["mask"]),
           r"the model passes no 'softcaps'.*\(did you mean 'softcap'\?\): it passes")
    model = use(make_model(attention_dropout=0.5), "nsacc_test", TOKENS_FIRST, own=["mask"])
    refuse(model, "the model has .* takes no padding: declare an input m",
           attention_mask=torch.ones_like(ids))
    refuse(model.train(), "attention 'nsacc_test' has no dropout, found 0.5")
    model.eval().model.layers[1].self_attn.scaling = 0.7
    refuse(model, "the model scales scores by 0.7, attention 'nsacc_test' by 1/sqrt")


@pytest.mark.parametrize("source", ["pading", "padding_mask", "pad"])
def test_misspelled_sources(source):
    """A model may pass them, so that they are errors of calls alone."""
    model, ids = make_model(), make_ids(2, 5)
    with pytest.warns(UserWarning, match=f"input 'm' is to be '{source}', which no model .* .did "
                                         f"you mean 'padding'..: expected 'scaling', ") as found:
        use(model, "nsacc_test", PADDED, inputs={"m": source, "z": "scaling"})
    assert [Path(one.filename).name for one in found] == [Path(__file__).name]
    mask = torch.ones_like(ids)
    mask[0, 0] = 0
    with pytest.raises(ArgumentError, match=f"input 'm' of 'nsacc_test' is registered as "
                                            f"'{source}': did you mean 'padding'"):
        model(ids, attention_mask=mask)
    with pytest.raises(ArgumentError, match=f"passes no '{source}' to its attention, which input "
                                            f"'m' of 'nsacc_test' is to be .did you mean 'padding"):
        model(ids)


def test_sources_that_a_model_does_not_pass():
    model, ids = make_model(), make_ids(2, 5)
    use(model, "nsacc_test", GATED, inputs={"g": "softcap"})
    with pytest.raises(ArgumentError, match="no 'softcap' to its attention.* is to be: it passes"):
        model(ids)


def test_sources_that_a_model_passes_by_itself():
    def attend(**more):
        q = torch.ones(1, 2, 3, 8)
        interface = transformers.AttentionInterface()["nsacc_test"]
        return interface(torch.nn.Module(), q, q, q, None, **more)[0]

    text = """kernel shifted(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], c: f32)
        -> [B, T, HQ, DV] { return c * (attend(q, k, v) where j <= i); }"""
    program = nsacc.compile(text, dtype="f32")
    for name in ("paddings", "scale", "position_shift"):
        with pytest.warns(UserWarning, match=f"to be '{name}', which no model of transformers"):
            nsacc.torch.register_attention("nsacc_test", program, inputs={"c": name})
        torch.testing.assert_close(attend(**{name: 3.0}), torch.full((1, 3, 2, 8), 3.0))


def test_registrations(monkeypatch):
    def register(text=TOKENS_FIRST, name="nsacc_test", **options):
        nsacc.torch.register_attention(name, nsacc.compile(text, dtype="f32"), **options)

    for name in ("sdpa", "eager"):
        with pytest.raises(ArgumentError, match=f"has an attention '{name}' of its own"):
            register(name=name)
    with pytest.raises(ArgumentError, match=r"'g' of kernel 'gated' comes from.*inputs={'g': …}"):
        register(GATED)
    with pytest.raises(ArgumentError, match="no input 'w' behind"):
        register(inputs={"w": "padding"})
    with pytest.raises(ArgumentError, match=r"own is the string 'mask', expected a list"):
        register(own="mask")
    for own in (None, 3):
        with pytest.raises(ArgumentError, match=rf"own is {own}, expected a list, as \['mask'\]"):
            register(own=own)
    with pytest.raises(ArgumentError, match=r"names 'msk', which.*\(did you mean 'mask'\?\): exp"):
        register(own=["msk"])
    with pytest.raises(ArgumentError, match="names 3, which no program has in itself: expected 'm"):
        register(own=[3])
    with pytest.raises(ArgumentError, match="inputs is 3, expected a mapping"):
        register(inputs=3)
    for source in (3, None):
        with pytest.raises(ArgumentError, match=f"inputs has {source} for 'g', expected 'scaling'"):
            register(GATED, inputs={"g": source})
    for text, name, source, expected in (
            (PADDED, "z", "padding", "expected z: bool.B, S., found z: f32"),
            (PADDED, "m", "scaling", "expected m: f32, found m: bool.B, S."),
            (GATED, "g", "sliding_window", "expected g: i32, found g: f32.B, T, HQ.")):
        inputs = {"m": "padding", "z": "scaling"} if text is PADDED else {}
        with pytest.raises(ArgumentError, match=f"'{name}' of kernel .* is to be '{source}', "
                                                f"{expected}"):
            register(text, inputs=inputs | {name: source})
    with pytest.raises(ArgumentError, match="bool.B, S., is 'm': 'padding'"):
        register(PADDED, inputs={"m": "attention_mask", "z": "scaling"})
    with pytest.raises(ArgumentError, match="heads_first is 'no', expected True, False or None"):
        register(heads_first="no")
    with pytest.raises(ArgumentError, match="is no attention of transformers"):
        register("kernel f(x: [N]) -> [N] { return x; }")
    with pytest.raises(ArgumentError, match="is a str, expected what"):
        nsacc.torch.register_attention("nsacc_test", "plain")
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "4.57.1")
    with pytest.raises(ArgumentError, match=r"is 4\.57\.1, expected 5\.17 or later: pip install"):
        register()
    monkeypatch.undo()
    # With as many heads as tokens, only the caller knows which dimension is heads.
    alike = """kernel alike(q, k, v: [B, M, N, D]) -> [B, M, N, D] { return attend(q, k, v); }"""
    with pytest.raises(ArgumentError, match="pass heads_first=False or True"):
        register(alike)
    register(alike, heads_first=False)
    # A model would take this for the attention's result.
    for result in ("f32[B, T, HQ]", "[B, T, HQ, D]"):
        text = TOKENS_FIRST.replace("-> [B, T, HQ, DV]", f"-> {result}")
        text = text.replace("return attend(q, k, v) where j <= i;", {
            "f32[B, T, HQ]": "return lse(attend(q, k, v) where j <= i);",
            "[B, T, HQ, D]": "return q;"}[result])
        with pytest.raises(ArgumentError, match="the first result of kernel 'plain' is .*expected "
                                                "the attention's, one row of the channels of 'v'"):
            register(text, heads_first=False)
    mixed = HEADS_FIRST.replace("k: [B, heads H, S, D]", "k: [B, S, heads H, D]")
    for heads_first in (False, True):
        with pytest.raises(ArgumentError, match="'k' and 'v' of kernel 'torch_order' have tokens "
                                                "and heads in different orders"):
            register(mixed, heads_first=heads_first)


def test_the_example():
    done = subprocess.run([sys.executable, EXAMPLES / "torch" / "llama.py"], text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("logits differ by ")
