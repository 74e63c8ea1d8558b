"""The models that docs/Transformers.md lists, small and random, against transformers' own
attention."""

from __future__ import annotations

import copy
import functools
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import nsacc
from nsacc.errors import ArgumentError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.17",
                                   reason="transformers 5.17 isn't installed")

import nsacc.torch  # noqa: E402

PAGE = (Path(__file__).parents[3] / "docs" / "Transformers.md").read_text()
KERNELS = {re.match(r"kernel (\w+)", text)[1]: text
           for text in re.findall(r"^```nsa\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)}
WINDOW = 4
IDS = torch.randint(3, 61, (2, 11), generator=torch.Generator().manual_seed(1))
MASK = torch.ones_like(IDS)
MASK[0, :3] = 0


class Row(NamedTuple):
    """A line of the page's table."""

    model: str
    program: str
    options: dict
    notes: str


def read_rows() -> list[Row]:
    table = PAGE.split("## Models that work")[1].split("##")[0]
    rows = []
    for model, program, more in re.findall(r"^\| ([^|]+) \| `([^|]+)` \|([^|]*)\|$", table,
                                           re.MULTILINE):
        options = dict(re.findall(r"`(inputs|own)=([^`]+)`", more))
        rows.append(Row(model, program, {key: eval(text) for key, text in options.items()}, more))
    return rows


@functools.cache
def compile_kernel(name: str, dtype: torch.dtype, **params) -> nsacc.Program:
    return nsacc.compile(KERNELS[name], dtype=dtype, **params)


def register(row: Row, dtype: torch.dtype = torch.float32) -> None:
    def find(name: str) -> nsacc.Program:
        sized = f"`{name}` is compiled with `window`" in row.notes
        return compile_kernel(name, dtype, **{"window": WINDOW} if sized else {})

    names = {name: find(name) for name in KERNELS if re.search(rf"\b{name}\b", row.program)}
    inputs = {"m": "padding", "z": "scaling", **row.options.get("inputs", {})}
    nsacc.torch.register_attention("nsacc_model", eval(row.program, names), inputs=inputs,
                                   own=row.options.get("own", ()))


# -- Small models -----------------------------------------------------------------------------

DECODER = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
           "max_position_embeddings": 64, "sliding_window": WINDOW}
ENCODER = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
           "num_attention_heads": 4}
IMAGE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "image_size": 16, "patch_size": 4}
SEQUENCES = {"vocab_size": 61, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
             "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
             "decoder_ffn_dim": 48, "decoder_start_token_id": 1}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
MIXED = {"layer_types": ["sliding_attention", "full_attention"]}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
          "qk_nope_head_dim": 16, "v_head_dim": 12, "n_routed_experts": 4, "n_group": 1,
          "topk_group": 1, "first_k_dense_replace": 1}

MODELS = {
    "Llama 2 and 3": ("LlamaForCausalLM", DECODER),
    "Mistral": ("MistralForCausalLM", DECODER),
    "Mixtral": ("MixtralForCausalLM", DECODER | {"num_local_experts": 2, "sliding_window": None}),
    "Qwen2 and Qwen2.5": ("Qwen2ForCausalLM",
                          DECODER | {"use_sliding_window": True, "max_window_layers": 1}),
    "Qwen3": ("Qwen3ForCausalLM", DECODER),
    "Qwen3 MoE": ("Qwen3MoeForCausalLM", DECODER | EXPERTS | {"num_experts": 4}),
    "Gemma 2": ("Gemma2ForCausalLM", DECODER),
    "Gemma 3": ("Gemma3ForCausalLM", DECODER | MIXED),
    # The window is cut in two halves around a query.
    "EmbeddingGemma": ("Gemma3TextModel", DECODER | MIXED | {
        "use_bidirectional_attention": True, "sliding_window": 2 * (WINDOW - 1)}),
    "Phi-3 and Phi-4": ("Phi3ForCausalLM", DECODER),
    "gpt-oss": ("GptOssForCausalLM", DECODER | {"num_local_experts": 2, "num_experts_per_tok": 1,
                                                "rope_parameters": {"rope_type": "default",
                                                                    "rope_theta": 10000.0}}),
    "DeepSeek-V3 and R1": ("DeepseekV3ForCausalLM", DECODER | EXPERTS | LATENT),
    "OLMo 2": ("Olmo2ForCausalLM", DECODER),
    "Command R7B": ("Cohere2ForCausalLM", DECODER | {"layer_types": MIXED["layer_types"]}),
    "Granite 3": ("GraniteForCausalLM", DECODER | {"attention_multiplier": 0.3}),
    "GPT-2": ("GPT2LMHeadModel", {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4,
                                  "n_positions": 64}),
    "BERT": ("BertModel", ENCODER),
    "RoBERTa and XLM-R": ("RobertaModel", ENCODER),
    "DistilBERT": ("DistilBertModel", {"vocab_size": 61, "dim": 32, "n_layers": 2, "n_heads": 4,
                                       "hidden_dim": 48}),
    "ModernBERT": ("ModernBertModel", ENCODER | {"local_attention": 2 * (WINDOW - 1),
                                                 "cls_token_id": 1, "sep_token_id": 2,
                                                 "global_attn_every_n_layers": 2}),
    "T5": ("T5ForConditionalGeneration", {"vocab_size": 61, "d_model": 32, "d_kv": 8, "d_ff": 48,
                                          "num_layers": 2, "num_decoder_layers": 2,
                                          "num_heads": 4, "decoder_start_token_id": 0}),
    "BART": ("BartForConditionalGeneration", SEQUENCES | {"max_position_embeddings": 64}),
    "Whisper": ("WhisperForConditionalGeneration",
                SEQUENCES | {"max_source_positions": 10, "max_target_positions": 64,
                             "num_mel_bins": 4}),
    "ViT": ("ViTModel", IMAGE),
    "DINOv2": ("Dinov2Model", IMAGE),
    "CLIP": ("CLIPModel", {"text_config": ENCODER | {"eos_token_id": 60}, "vision_config": IMAGE}),
    "SigLIP": ("SiglipVisionModel", IMAGE),
}


def make_model(name: str):
    kind, sizes = MODELS[name]
    torch.manual_seed(5)
    cls = getattr(transformers, kind)
    config = cls.config_class(**sizes)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    for key, value in ids.items():
        if hasattr(config, key) and getattr(config, key) not in (60,):
            setattr(config, key, value)
    config._attn_implementation = "eager"
    return cls(config).eval()


def run(model) -> torch.Tensor:
    """The model's result, at tokens that aren't padding."""
    generator = torch.Generator().manual_seed(2)
    pixels = torch.randn(2, 3, 16, 16, generator=generator)
    name = type(model).__name__
    if name == "CLIPModel":
        out = model(input_ids=IDS, attention_mask=torch.ones_like(IDS), pixel_values=pixels)
        return torch.cat([out.text_embeds, out.image_embeds])
    if model.main_input_name == "pixel_values":
        return model(pixel_values=pixels).last_hidden_state
    if name.startswith("Whisper"):
        features = torch.randn(2, 4, 20, generator=generator)
        return model(input_features=features, decoder_input_ids=IDS[:, :5]).logits
    if model.config.is_encoder_decoder:
        return model(input_ids=IDS, attention_mask=MASK, decoder_input_ids=IDS[:, :5]).logits
    out = model(input_ids=IDS, attention_mask=MASK)
    return (out.logits if hasattr(out, "logits") else out.last_hidden_state)[MASK.bool()]


def switch(model):
    """An equal model, made with the program's attention."""
    config = copy.deepcopy(model.config)
    config._attn_implementation = "nsacc_model"
    other = type(model)(config).eval()
    other.load_state_dict(model.state_dict())
    return other


def count_layers(model) -> int:
    config = model.config
    if hasattr(config, "text_config"):
        return config.text_config.num_hidden_layers + config.vision_config.num_hidden_layers
    if config.is_encoder_decoder:
        return getattr(config, "encoder_layers", config.num_hidden_layers) * 3
    return config.num_hidden_layers


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("row", read_rows(), ids=lambda row: row.model)
def test_models_that_work(row, monkeypatch):
    model = make_model(row.model)
    expected = run(model)
    register(row)
    calls = []
    interface = transformers.AttentionInterface._global_mapping
    attend = interface["nsacc_model"]
    monkeypatch.setitem(interface, "nsacc_model",
                        lambda *args, **more: calls.append(1) or attend(*args, **more))
    torch.testing.assert_close(run(switch(model)), expected, atol=2e-5, rtol=1e-4)
    assert len(calls) == count_layers(model)


@pytest.mark.parametrize("name", ["Llama 2 and 3", "gpt-oss", "T5"])
def test_models_in_bf16(name):
    """Sinks and biases have the model's element type."""
    model = make_model(name).to(torch.bfloat16)
    expected = run(model)
    register(next(row for row in read_rows() if row.model == name), torch.bfloat16)
    found = run(switch(model).to(torch.bfloat16))
    assert (found - expected).abs().max() < 3e-2 * expected.abs().max()


@pytest.mark.parametrize("row", [row for row in read_rows() if MODELS[row.model][0].endswith(
    ("ForCausalLM", "LMHeadModel"))], ids=lambda row: row.model)
def test_packed_sequences_with_and_without_a_cache(row):
    """Some models of transformers take positions with a cache for those of one sequence."""
    model = make_model(row.model)
    register(row)
    model = switch(model)
    packed = torch.cat([torch.arange(5), torch.arange(6)])[None]
    for options in ({}, {"use_cache": False}, {"attention_mask": MASK}):
        with pytest.raises(ArgumentError, match="position_ids begin again .* several sequences"):
            model(input_ids=IDS, position_ids=packed, **options)
    cache = model(input_ids=IDS[:, :4]).past_key_values
    model(input_ids=IDS[:, 4:], position_ids=torch.arange(4, 11)[None], past_key_values=cache)
    model(input_ids=IDS, attention_mask=MASK, position_ids=(MASK.cumsum(1) - 1).clamp(min=0))


def test_the_page_lists_them_all():
    rows = [row.model for row in read_rows()]
    assert rows == list(MODELS) and len(rows) >= 20
    used = {name for row in read_rows() for name in re.findall(r"\w+", row.program)}
    assert set(KERNELS) <= used


def test_models_that_do_not_work():
    config = transformers.FalconConfig(vocab_size=61, hidden_size=32, num_hidden_layers=2,
                                       num_attention_heads=4)
    register(read_rows()[0])
    model = transformers.FalconForCausalLM(config).eval()
    model.set_attn_implementation("nsacc_model")
    assert model.config._attn_implementation != "nsacc_model"

    config = transformers.Llama4TextConfig(
        **DECODER, intermediate_size_mlp=48, num_local_experts=2, attention_chunk_size=4,
        pad_token_id=0, attn_implementation="nsacc_model")
    with pytest.raises(ArgumentError, match="chunks"):
        transformers.Llama4ForCausalLM(config).eval()(IDS)
