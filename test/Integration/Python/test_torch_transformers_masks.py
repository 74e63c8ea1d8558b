"""Layers of models of transformers, and programs with their masks or other masks."""

from __future__ import annotations

import inspect
import re

import pytest

import nsacc
from harness import EXAMPLES
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.17",
                                   reason="transformers 5.17 isn't installed")

import nsacc.torch  # noqa: E402
from nsacc import _masks, _positions  # noqa: E402
from nsacc._positions import are_of_one_sequence  # noqa: E402

PLAIN = """kernel plain<window = 1073741824>(q: [B, T, HQ, D], k: [B, S, H, D],
    v: [B, S, H, DV]) -> [B, T, HQ, DV] { return attend(q, k, v) where WHERE; }"""
CAUSAL = PLAIN.replace("WHERE", "j <= i")
FULL = PLAIN.replace(" where WHERE", "")
WINDOW = PLAIN.replace("WHERE", "0 <= i - j < window")
AROUND = PLAIN.replace("WHERE", "-window < i - j < window")
KINDS = pytest.mark.parametrize("kind", _masks.KINDS)


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def make(kind: str, window: int = 4):
    """A model of two layers: Qwen's, with a window in the second one or not, or an encoder's."""
    torch.manual_seed(3)
    if kind.startswith("bidirectional"):
        config = transformers.ModernBertConfig(
            vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=48, local_attention=2 * window - 2, pad_token_id=0,
            bos_token_id=1, eos_token_id=1, cls_token_id=1, sep_token_id=1,
            global_attn_every_n_layers=2 if kind.endswith("window") else 1,
            attn_implementation="eager")
        return transformers.ModernBertModel(config).eval()
    config = transformers.Qwen2Config(
        vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0,
        sliding_window=window, use_sliding_window=kind.endswith("window"), max_window_layers=1,
        attn_implementation="eager")
    return transformers.Qwen2Model(config).eval()


def run(model, tokens: int = 13):
    ids = torch.randint(1, 61, (2, tokens), generator=torch.Generator().manual_seed(tokens))
    return model(ids).last_hidden_state


def use(model, program, **options):
    nsacc.torch.register_attention("nsacc_test", program, **options)
    model.set_attn_implementation("nsacc_test")
    return model


def compile_for(text: str, **params):
    return nsacc.compile(text, dtype="f32", **params)


@KINDS
def test_one_program_for_all_layers(kind):
    model = make(kind)
    expected = run(model)
    program = compile_for({"causal": CAUSAL, "bidirectional": FULL, "causal_window": WINDOW,
                           "bidirectional_window": AROUND}[kind])
    torch.testing.assert_close(run(use(model, program)), expected)


@pytest.mark.parametrize("kind, full, window", [("causal", CAUSAL, WINDOW),
                                                ("bidirectional", FULL, AROUND)])
@pytest.mark.parametrize("set_by", ["the model", "the program"])
def test_a_program_for_each_kind_of_layer(kind, full, window, set_by):
    """Parameters with other names belong to the program."""
    model = make(f"{kind}_window")
    expected = run(model)
    within = (compile_for(window) if set_by == "the model" else
              compile_for(window.replace("window", "size"), size=4))
    use(model, {kind: compile_for(full), f"{kind}_window": within})
    torch.testing.assert_close(run(model), expected)


@pytest.mark.parametrize("text, kind, found", [
    (FULL, "causal", "a causal mask, and the program sees later keys: add 'j <= i'"),
    (CAUSAL, "bidirectional", "no mask, .*sees no later keys: leave 'j <= i' out"),
    (CAUSAL, "causal_window", "a causal window of 4 tokens, and the program sees keys further "
                              "back: declare a parameter, as in kernel f<window = 1073741824>"),
    (WINDOW.replace("< window", "< window - 1"), "causal_window", "sees fewer keys back"),
    (WINDOW.replace("< window", "<= window"), "causal_window", "sees keys further back"),
    (AROUND, "causal_window", "sees later keys"),
    (FULL, "bidirectional_window", "a bidirectional window of 4 .*further back"),
    (WINDOW, "bidirectional_window", "sees fewer keys ahead|sees no later keys"),
    (AROUND.replace("-window <", "-window <="), "bidirectional_window", "further ahead"),
])
def test_masks_that_differ(text, kind, found):
    with pytest.raises(ArgumentError, match=found):
        run(use(make(kind), compile_for(text)))
    # It may be intended.
    run(use(make(kind), compile_for(text), own=["mask"]))


def test_a_window_of_the_programs_in_layers_without_one():
    with pytest.raises(ArgumentError, match="sees 3 tokens back, and layers without a window see "
                                            "all: compile it with window=1073741824"):
        run(use(make("causal_window"), compile_for(WINDOW, window=3)))
    # In a model without windows, it is sparse attention.
    run(use(make("causal"), compile_for(WINDOW, window=3)))


@pytest.mark.parametrize("example", ["nsa", "moba", "window_sink"])
def test_sparse_programs_are_causal(example):
    program = nsacc.compile(EXAMPLES / f"{example}.nsa", dtype="f32")
    names = [spec.name for spec in program.signature.inputs[3:]]
    gates = {name: lambda module, query, *_tensors, **_more:
             torch.ones(query.shape[0], query.shape[2], query.shape[1]) for name in names}
    if example == "window_sink":
        gates = {name: lambda module, query, *_tensors, **_more: torch.zeros(query.shape[1])
                 for name in names}
    assert run(use(make("causal"), program, inputs=gates)).isfinite().all()
    with pytest.raises(ArgumentError, match="sees no later keys"):
        run(use(make("bidirectional"), program, inputs=gates))


def test_masks_that_no_layer_takes():
    """Models make the masks of all kinds of layers that they know."""
    torch.manual_seed(3)
    config = transformers.Gemma3TextConfig(
        vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, query_pre_attn_scalar=8,
        sliding_window=4, layer_types=["full_attention"] * 2, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, attn_implementation="eager")
    model = transformers.Gemma3TextModel(config).eval()
    expected = run(model)
    torch.testing.assert_close(run(use(model, compile_for(CAUSAL))), expected)


def test_windows_as_inputs():
    text = WINDOW.replace("<window = 1073741824>", "").replace("DV])", "DV], window: i32)", 1)
    model = make("causal_window")
    expected = run(model)
    use(model, compile_for(text), inputs={"window": "sliding_window"})
    torch.testing.assert_close(run(model), expected)


def test_decoders_that_were_made_bidirectional():
    """Their modules say that they are causal, but their configuration says that they aren't."""
    model = make("causal")
    model.config.is_causal = False
    expected = run(model)
    torch.testing.assert_close(run(use(model, compile_for(FULL))), expected)
    with pytest.raises(ArgumentError, match="sees no later keys"):
        run(use(model, compile_for(CAUSAL)))


def test_long_windows():
    """Their edges are tested with fewer queries than keys."""
    model = make("causal_window", window=5000)
    expected = run(model)
    torch.testing.assert_close(run(use(model, compile_for(WINDOW))), expected)
    with pytest.raises(ArgumentError, match="a causal window of 5000 .*further back"):
        run(use(model, compile_for(CAUSAL)))


@pytest.mark.parametrize("clauses", [
    "where WHERE score s - slope[h] * (i - j)", "where WHERE weight silu(s) / D",
    "where WHERE sink slope[h]", "where WHERE score 30 * tanh(s / 30)",
    "score select(WHERE, s, -inf)"])
def test_scores_do_not_hide_masks(clauses):
    """Biases, weights that may be 0, and masks that are spelled as scores."""
    def find(where: str, causal: bool, window: int | None) -> str | None:
        text = PLAIN.replace("where WHERE", clauses).replace("WHERE", where)
        program = compile_for(text.replace("DV])", "DV], slope: f32[HQ])", 1), target="oracle")
        return _masks.Probe(program, {"slope": "position_bias"}, False, False).find_fault(
            causal, window, None)

    assert find("j <= i", True, None) is None
    assert find("i - j < window", False, None) is None
    assert "later keys" in find("i - j < window", True, None)
    assert find("0 <= i - j and i - j < 5000", True, 5000) is None
    assert "further back" in find("0 <= i - j and i - j < 5000", True, 4000)
    assert "fewer keys back" in find("0 <= i - j and i - j < 5000", True, 6000)


def test_windows_that_are_too_long_to_try():
    """A program of one length for queries and keys takes as many of both."""
    alike = compile_for(WINDOW.replace("[B, S,", "[B, T,"), window=1 << 21)
    window = compile_for(WINDOW, window=1 << 21)
    for program in (alike, window):
        fault = _masks.Probe(_masks.for_oracle(program), {}, False, False).find_fault(
            True, 1 << 21, None)
        assert re.search("can't be asked .*tokens are too many to try", fault)


def test_generation_with_windows():
    model = transformers.Qwen2ForCausalLM(make("causal_window").config).eval()
    ids = torch.arange(1, 12)[None]
    options = {"max_new_tokens": 7, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    expected = model.generate(ids, **options)
    assert torch.equal(use(model, compile_for(WINDOW)).generate(ids, **options), expected)


@KINDS
def test_compiled_models(kind):
    text = {"causal": CAUSAL, "bidirectional": FULL, "causal_window": WINDOW,
            "bidirectional_window": AROUND}[kind]
    text = text.replace("DV])", "DV], m: bool[B, S])", 1)
    text = (text.replace("; }", " and m[b, j]; }") if "where" in text else
            text.replace("; }", " where m[b, j]; }"))
    model = make(kind)
    ids = torch.arange(1, 27).reshape(2, 13)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    expected = model(ids, attention_mask=mask).last_hidden_state
    use(model, compile_for(text), inputs={"m": "padding"})
    torch._dynamo.reset()
    options = {} if kind.startswith("bidirectional") else {"use_cache": False}
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for _again in range(2):
        found = compiled(ids, attention_mask=mask, **options).last_hidden_state
        torch.testing.assert_close(found[mask.bool()], expected[mask.bool()])


def test_packed_sequences_and_chunks():
    model = use(make("causal"), compile_for(CAUSAL))
    ids = torch.arange(1, 13)[None]
    places = torch.cat([torch.arange(5), torch.arange(7)])[None]
    for cache in (True, False):
        with pytest.raises(ArgumentError, match="position_ids begin again within a row"):
            model(ids, position_ids=places, use_cache=cache)
    torch.manual_seed(3)
    config = transformers.Llama4TextConfig(
        vocab_size=61, hidden_size=32, intermediate_size=48, intermediate_size_mlp=48,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        num_local_experts=2, attention_chunk_size=4, pad_token_id=0)
    with pytest.raises(ArgumentError, match="another mask than .* as one of chunks"):
        use(transformers.Llama4ForCausalLM(config).eval(), compile_for(CAUSAL))(ids)
    # Gemma's images.
    with pytest.raises(ArgumentError, match="asks attention 'nsacc_test' for another mask"):
        transformers.masking_utils.create_causal_mask(
            model.config, torch.zeros(1, 6, 32), None, None,
            block_sequence_ids=torch.tensor([[-1, 0, 0, 0, -1, -1]]))


@pytest.mark.parametrize("positions, mask, expected", [
    ([[0, 1, 2, 3]], None, True),
    ([[4, 5, 6, 7], [0, 1, 2, 3]], None, True),     # behind a cache
    ([[0, 1, 0, 1]], None, False),
    ([[0, 1, 2, 3], [0, 0, 1, 2]], None, False),    # a sequence of one token
    ([[1, 1, 0, 1]], [[0, 0, 1, 1]], True),         # padding in front, as generate counts
    ([[0, 1, 2, 3]], [[0, 0, 1, 1]], True),
    ([[0, 1, 1, 1]], [[1, 1, 0, 0]], True),         # padding behind
    ([[0, 1, 2, 3]], [[1, 0, 0, 1]], True),         # hidden tokens
    ([[0, 1, 1, 2]], [[1, 1, 0, 1]], True),
    ([[0, 1, 2, 0]], [[1, 1, 0, 1]], False),        # padding between sequences
    ([[0, 1, 0, 1]], [[1, 1, 1, 1, 1, 1]], False),  # keys of a cache in front
    ([[0, 0, 0, 0]], [[0, 0, 0, 0]], True),
])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_positions_of_one_sequence(positions, mask, expected, dtype):
    mask = None if mask is None else torch.tensor(mask, dtype=torch.bool)
    assert bool(are_of_one_sequence(torch.tensor(positions, dtype=dtype), mask)) == expected


def test_positions_are_read_once_in_each_run(monkeypatch):
    """On a GPU, a read waits."""
    reads = []
    monkeypatch.setattr(_positions, "are_of_one_sequence",
                        lambda *given: reads.append(1) or are_of_one_sequence(*given))
    model = use(make("causal"), compile_for(CAUSAL))
    ids, places = torch.arange(1, 13)[None], torch.arange(12)[None]
    for reads_so_far in (1, 2):
        model(ids, position_ids=places)
        assert len(reads) == reads_so_far
    places[0, 6:] -= 6
    with pytest.raises(ArgumentError, match="begin again"):
        model(ids, position_ids=places)
    cache = model(ids).past_key_values
    reads.clear()
    model(ids[:, :1], past_key_values=cache)
    assert not reads


def test_packed_sequences_under_the_compiler():
    """It can't read positions, but its code can."""
    model = make("causal")
    ids = torch.arange(1, 13)[None]
    expected = model(ids).last_hidden_state
    use(model, compile_for(CAUSAL))
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    places = torch.arange(12)[None]
    torch.testing.assert_close(compiled(ids, position_ids=places).last_hidden_state, expected)
    with pytest.raises(RuntimeError, match="position_ids begin again within a row"):
        compiled(ids, position_ids=places % 5)
    with pytest.raises(ArgumentError, match="^the model asks .* torch.compile can't see into.*"
                                            "use_cache=True"):
        compiled(ids, use_cache=False)


def test_windows_that_layers_do_not_tell():
    program = compile_for(WINDOW)
    nsacc.torch.register_attention("nsacc_test", program)
    make_mask = transformers.AttentionMaskInterface()["nsacc_test"]
    function = transformers.masking_utils.sliding_window_causal_mask_function(4)
    mask = make_mask(batch_size=1, q_length=6, kv_length=6, mask_function=function, local_size=4,
                     device=torch.device("cpu"))
    q = torch.ones(1, 2, 6, 8)
    attend = transformers.AttentionInterface()["nsacc_test"]
    assert attend(torch.nn.Module(), q, q, q, mask, sliding_window=4)[0].shape == (1, 6, 2, 8)
    with pytest.raises(ArgumentError, match="layers don't pass to attention 'nsacc_test' as "
                                            "'sliding_window'"):
        attend(torch.nn.Module(), q, q, q, mask)


def test_kinds_of_layers_are_checked():
    program = compile_for(CAUSAL)
    with pytest.raises(ArgumentError, match="one for 'sliding_attention' layers, expected 'causal"):
        nsacc.torch.register_attention("nsacc_test", {"sliding_attention": program})
    with pytest.raises(ArgumentError, match="program is empty"):
        nsacc.torch.register_attention("nsacc_test", {})
    with pytest.raises(ArgumentError, match="program is a str"):
        nsacc.torch.register_attention("nsacc_test", {"causal": "plain"})
    with pytest.raises(ArgumentError, match="register a program for 'bidirectional' layers, found "
                                            "those of 'causal'"):
        run(use(make("bidirectional"), {"causal": program}))


def test_packages_cannot_be_asked(tmp_path):
    path = tmp_path / "full.nsapkg"
    compile_for(FULL).package(path, {"HQ": 4, "H": 4, "D": 8, "DV": 8})
    with pytest.raises(ArgumentError, match=r"of a package, which .*own=\['mask'\]"):
        run(use(make("bidirectional"), nsacc.load(path)))
    model = make("bidirectional")
    expected = run(model)
    torch.testing.assert_close(run(use(model, nsacc.load(path), own=["mask"])), expected)


# -- Names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, word, other", [
    ("nsacc_flash", "flash", "nsacc"),
    ("flash", "flash", "nsacc_attention"),
    ("my_flash_attn", "flash", "my_attn"),
    ("flash_attention_5", "flash", "attention_5"),
    ("nsacc_sdpa", "sdpa", "nsacc"),
    ("my_flex_attention", "flex_attention", "my"),
    ("org/kernel", "/", "org_kernel"),
    ("kernels-community/flash", "/", "kernels-community"),
    ("paged|nsacc", "|", "paged_nsacc"),
    ("nsacc:v1@main", ":", "nsacc_v1_main"),
])
def test_names_that_transformers_reads_otherwise(name, word, other):
    program = compile_for(CAUSAL)
    with pytest.raises(ArgumentError, match=f"with '{re.escape(word)}' .*as '{other}'"):
        nsacc.torch.register_attention(name, program)
    nsacc.torch.register_attention(other, program)
    model = make("causal")
    expected = run(model)
    model.set_attn_implementation(other)
    torch.testing.assert_close(run(model), expected)


def test_words_that_transformers_looks_for():
    """A newer transformers may look for more."""
    from transformers import modeling_utils
    from transformers.utils import generic

    source = inspect.getsource(modeling_utils.PreTrainedModel) + inspect.getsource(generic)
    looked_for = set(re.findall(r'"([\w|/]+)" in \w*(?:attention|attn_impl)\w*', source))
    assert {"flash", "sdpa"} <= looked_for
    for word in looked_for:
        with pytest.raises(ArgumentError, match=f"with '{word}'"):
            nsacc.torch.register_attention(f"nsacc_{word}", compile_for(CAUSAL))
