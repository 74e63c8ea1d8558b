"""A program as the attention of a model of transformers. The model's output stays unchanged.

    pip install torch 'transformers>=5.17'
    python examples/torch/llama.py

The model is small and random; one from the hub takes `attn_implementation="nsacc_padded"` in
`from_pretrained` the same way.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import nsacc
import nsacc.torch

PADDED = """
kernel padded(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], m: bool[B, S])
    -> [B, T, HQ, DV]
{
  return attend(q, k, v) where j <= i and m[b, j];
}"""

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32


def make_model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=1000, hidden_size=512, intermediate_size=1024,
                         num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
                         max_position_embeddings=256, pad_token_id=0)
    return LlamaForCausalLM(config).to(DEVICE, DTYPE).eval()


@torch.inference_mode()
def main() -> None:
    program = nsacc.compile(PADDED, dtype=DTYPE, target=DEVICE)
    nsacc.torch.register_attention("nsacc_padded", program, inputs={"m": "padding"})

    model = make_model()
    ids = torch.randint(1, 1000, (2, 37), device=DEVICE)
    mask = torch.ones_like(ids)
    mask[0, :9] = 0  # the first text is shorter, and padded in front
    expected = model(ids, attention_mask=mask).logits[mask.bool()]

    model.set_attn_implementation("nsacc_padded")
    logits = model(ids, attention_mask=mask).logits[mask.bool()]
    error = ((logits - expected).abs().max() / expected.abs().max()).item()
    assert error < (2e-2 if DTYPE == torch.bfloat16 else 1e-5), error
    text = model.generate(ids, attention_mask=mask, max_new_tokens=16, do_sample=False)
    print(f"logits differ by {error:.1e} of the largest; the model wrote {text[1, 37:].tolist()}")


if __name__ == "__main__":
    main()
