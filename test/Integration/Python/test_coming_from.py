"""The rows of docs/ComingFrom.md: calls of other packages, and their equals here."""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import nsacc
from reference.dense import attend, positions
from reference.masks import block_mask
from reference.nsa import nsa

torch = pytest.importorskip("torch")

PAGE = (Path(__file__).parents[3] / "docs" / "ComingFrom.md").read_text()
KERNELS = {re.match(r"kernel (\w+)", text)[1]: text
           for text in re.findall(r"^```nsa\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)}
FRAME = {
    "heads": "q: [B, heads HQ, T, D], k: [B, heads H, S, D], v: [B, H, S, DV]{}) "
             "-> [B, HQ, T, DV]",
    "tokens": "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]{}) -> [B, T, HQ, DV]"}
BATCH, QUERIES, KEYS, QUERY_HEADS, HEADS = 2, 24, 40, 4, 2
GENERATOR = torch.Generator().manual_seed(3)
TABLES = {
    "prefix": ("i32[B]", torch.tensor([3, 30], dtype=torch.int32)),
    "doc": ("i32[B, S]", torch.arange(KEYS).floor_divide(15).expand(BATCH, KEYS).int()),
    "win": ("i32[HQ]", torch.tensor([1, 5, 20, 100], dtype=torch.int32)),
    "slope": ("f32[HQ]", torch.tensor([0.5, 0.25, 0.1, 0.0])),
    "bias": ("f32[HQ, T, S]", torch.randn(QUERY_HEADS, QUERIES, KEYS, generator=GENERATOR)),
    "filled": ("i32[B]", torch.tensor([30, 40], dtype=torch.int32)),
}


def read_rows(head: str) -> list:
    """The cells of the table with this name of the first column, without quotes."""
    table = PAGE.split(f"\n| {head} |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(.+)` \| (?:`(.+)` )?\|$", table, re.MULTILINE)
    assert len(rows) == table.count("\n") - 1, "a row that isn't two cells of code"
    return [pytest.param(left.replace(r"\|", "|"), right, id=left) for left, right in rows]


def make_inputs(order: str, queries: int = QUERIES, group: int = QUERY_HEADS // HEADS) -> list:
    shapes = [(BATCH, queries, group * HEADS, 16), (BATCH, KEYS, HEADS, 16),
              (BATCH, KEYS, HEADS, 16)]
    tensors = [torch.randn(shape, generator=GENERATOR) for shape in shapes]
    return [one.transpose(1, 2) for one in tensors] if order == "heads" else tensors


def run_clause(clause: str, order: str, tensors: list) -> torch.Tensor:
    used = [name for name in TABLES if re.search(rf"\b{name}\[", clause)]
    declared = "".join(f", {name}: {TABLES[name][0]}" for name in used)
    text = f"kernel row({FRAME[order].format(declared)} {{ return attend(q, k, v) {clause}; }}"
    with warnings.catch_warnings(action="error", category=nsacc.CompileWarning):
        compiled = nsacc.compile(text, dtype="f32")
    return compiled(*tensors, *(TABLES[name][1] for name in used))


def close(found, expected) -> None:
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=torch.float32), atol=2e-5,
                               rtol=1e-4)


# -- FlexAttention and SDPA -------------------------------------------------------------------


def make_function(arguments: str, text: str):
    names = {name: value for name, (_type, value) in TABLES.items()}
    return eval(f"lambda {arguments}: {text}", {"torch": torch, "offset": KEYS - QUERIES, **names})


@pytest.mark.parametrize("left, clause", read_rows("`mask_mod`"))
def test_mask_mods(left, clause):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    queries = QUERIES if "offset" in left else KEYS
    q, k, v = make_inputs("heads", queries)
    mask = make_function("b, h, q_idx, kv_idx", left)
    blocks = create_block_mask(mask, BATCH, QUERY_HEADS, queries, KEYS, device="cpu")
    close(run_clause(clause, "heads", [q, k, v]),
          flex_attention(q, k, v, block_mask=blocks, enable_gqa=True))


@pytest.mark.parametrize("left, clause", read_rows("`score_mod`"))
def test_score_mods(left, clause):
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = make_inputs("heads")
    score = make_function("score, b, h, q_idx, kv_idx", left)
    close(run_clause(clause, "heads", [q, k, v]),
          flex_attention(q, k, v, score_mod=score, enable_gqa=True))


@pytest.mark.parametrize("left, clause", read_rows("`torch.nn.functional`"))
def test_sdpa(left, clause):
    q, k, v = make_inputs("heads")
    expected = eval(left, {**vars(torch.nn.functional), "q": q, "k": k, "v": v})
    close(run_clause(clause, "heads", [q, k, v]), expected)


MASKS = re.findall(r"^\| (bool|f32), `(\[.*\])` \| `mask: (.*)` \| `(.*)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("dtype, shape, declared, clause", MASKS)
def test_masks_of_sdpa(dtype, shape, declared, clause, monkeypatch):
    q, k, v = make_inputs("heads")
    sizes = {"B": BATCH, "HQ": QUERY_HEADS, "T": QUERIES, "S": KEYS}
    drawn = torch.rand(eval(shape, sizes), generator=GENERATOR)
    mask = drawn < 0.5 if dtype == "bool" else drawn.where(drawn < 0.5, -torch.inf)
    monkeypatch.setitem(TABLES, "mask", (declared, mask))
    close(run_clause(clause, "heads", [q, k, v]), torch.nn.functional.scaled_dot_product_attention(
        q, k, v, enable_gqa=True, attn_mask=mask))


def test_there_are_masks_of_sdpa():
    assert len(MASKS) == 7


# -- flash-attn -------------------------------------------------------------------------------


def flash_attn_func(q, k, v, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, filled=None) -> np.ndarray:
    """The formula of its documentation: masks are aligned to the last query and key."""
    q, k, v = (np.asarray(one, np.float64) for one in (q, k, v))
    queries, keys = q.shape[1], k.shape[1]
    j = np.arange(keys)[None, None, None, :]
    i = (positions(keys, queries)[None, None] if filled is None else
         np.arange(queries)[None, None, :, None] + np.asarray(filled)[:, None, None, None]
         - queries)
    left, right = window_size[0], 0 if causal else window_size[1]
    visible = np.ones((q.shape[0], q.shape[2], queries, keys), bool)
    visible &= (j >= i - left) if left >= 0 else True
    visible &= (j <= i + right) if right >= 0 else True

    def bias(s):
        s = softcap * np.tanh(s / softcap) if softcap else s
        return s if alibi_slopes is None else \
            s - np.asarray(alibi_slopes)[None, :, None, None] * abs(i - j)

    return attend(q, k, v, visible, bias=bias, scale=softmax_scale)[0]


def flash_attn_with_kvcache(q, k, v, cache_seqlens, causal) -> np.ndarray:
    return flash_attn_func(q, k, v, causal=causal, filled=cache_seqlens)


def flash_attn_varlen_func(q, k, v, cu_q, cu_k, max_q, max_k, causal) -> np.ndarray:
    assert max_q == max(np.diff(cu_q)) and max_k == max(np.diff(cu_k))
    rows = [flash_attn_func(q[a:b][None], k[c:d][None], v[c:d][None], causal=causal)[0]
            for a, b, c, d in zip(cu_q[:-1], cu_q[1:], cu_k[:-1], cu_k[1:])]
    return np.concatenate(rows)


@pytest.mark.parametrize("left, clause", [row for row in read_rows("call")])
def test_flash_attn(left, clause):
    q, k, v = make_inputs("tokens")
    names = {"q": q, "k": k, "v": v, "slope": TABLES["slope"][1], "filled": TABLES["filled"][1]}
    close(run_clause(clause, "tokens", [q, k, v]), eval(left, {**globals(), **names}))


def test_flash_attn_of_packed_rows():
    (left, right), = re.findall(r"^\| `(flash_attn_varlen.+)` \| `(.+)` \|$", PAGE, re.MULTILINE)
    cu_q, cu_k = (torch.tensor(one, dtype=torch.int32) for one in ([0, 5, 5, 24], [0, 9, 12, 40]))
    q, k, v = (one[0] for one in make_inputs("tokens"))
    names = {"q": q, "k": k, "v": v, "cu_q": cu_q, "cu_k": cu_k, "max_q": 19, "max_k": 28,
             "varlen": nsacc.compile(KERNELS["varlen"], dtype="f32")}
    close(eval(right, names), eval(left, {**globals(), **names}))


# -- Native Sparse Attention ------------------------------------------------------------------


def parallel_nsa(q, k, v, g_cmp=None, g_slc=None, g_swa=None, block_indices=None, block_counts=16,
                 block_size=64, window_size=0, cu_seqlens=None) -> np.ndarray:
    """What its documentation and its plain version in PyTorch compute."""
    if cu_seqlens is not None:
        return np.concatenate([parallel_nsa(
            *(one[:, a:b] for one in (q, k, v, g_cmp, g_slc, g_swa)), block_counts=block_counts,
            block_size=block_size, window_size=window_size)
            for a, b in zip(cu_seqlens[:-1], cu_seqlens[1:])], axis=1)
    q, k, v = (np.asarray(one, np.float64) for one in (q, k, v))
    if block_indices is not None:
        visible = np.tril(np.ones((q.shape[1], k.shape[1]), bool)) & \
            block_mask(np.asarray(block_indices), block_size, k.shape[1]).repeat(
                q.shape[2] // k.shape[2], axis=1)
        return attend(q, k, v, visible)[0]
    gates = (np.asarray(one, np.float64) for one in (g_cmp, g_slc, g_swa))
    return nsa(q, k, v, *gates, block=block_size, top=block_counts, length=block_size,
               stride=block_size, window=window_size, own_token=True).out


def topk_sparse_attention(q, k, v, topk_idx, block_size, cu_seqlens) -> np.ndarray:
    rows = [parallel_nsa(q[a:b][None], k[a:b][None], v[a:b][None], block_size=block_size,
                         block_indices=topk_idx.permute(1, 0, 2)[a:b][None])[0]
            for a, b in zip(cu_seqlens[:-1], cu_seqlens[1:])]
    return np.concatenate(rows)


def choose_blocks(tokens: int) -> torch.Tensor:
    """Three blocks of 8 for each token and head, the first -1 if there are fewer before it."""
    chosen = torch.full((1, tokens, HEADS, 3), -1, dtype=torch.int32)
    for t in range(tokens):
        for h in range(HEADS):
            some = torch.randperm(t // 8 + 1, generator=GENERATOR)[:3].int()
            chosen[0, t, h, :len(some)] = some
            chosen[0, t, h, 0] = t // 8 if t // 8 not in some else some[0]
    return chosen


@pytest.mark.parametrize("left, right", re.findall(
    r"^\| `((?:parallel_nsa|topk_sparse).+)` \| `(.+)` \|$", PAGE, re.MULTILINE))
def test_native_sparse_attention(left, right):
    q, k, v = make_inputs("tokens", queries=KEYS)
    q, k, v = q[:1], k[:1], v[:1]
    cu = torch.tensor([0, 13, KEYS], dtype=torch.int32)
    ragged = torch.cat([choose_blocks(13), choose_blocks(KEYS - 13)], dim=1)
    sizes = dict.fromkeys(("fla_nsa", "fla_rows"), {"block": 8, "top": 3, "window": 12})
    programs = {name: functools.partial(nsacc.compile, KERNELS[name], dtype="f32")(
        **sizes.get(name, {"block": 8, "top": 3})) for name in KERNELS if name in right}
    gates = torch.rand(3, 1, KEYS, QUERY_HEADS, generator=GENERATOR)
    names = {"q": q, "k": k, "v": v, "g_cmp": gates[0], "g_slc": gates[1], "g_swa": gates[2],
             "idx": choose_blocks(KEYS), "topk_idx": ragged[0].permute(1, 0, 2), "cu": cu}
    close(eval(right, {**programs, **names}), eval(left, {**globals(), **names}))


# -- Transformers -----------------------------------------------------------------------------


@pytest.mark.parametrize("left, right", read_rows("there"))
def test_transformers(left, right):
    transformers = pytest.importorskip("transformers", minversion="5.17")
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    import nsacc.torch

    config = transformers.LlamaConfig(
        vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, pad_token_id=0)
    model = transformers.LlamaForCausalLM(config).eval()
    causal = nsacc.compile("""kernel causal(q: [B, heads HQ, T, D], k: [B, heads H, S, D],
        v: [B, H, S, DV]) -> [B, T, HQ, DV] { return attend(q, k, v) where j <= i; }""",
                           dtype="f32")
    names = {"model": model, "causal": causal, "nsacc": nsacc, "transformers": transformers,
             "function": sdpa_attention_forward}
    ids = torch.arange(1, 21).reshape(2, 10)
    logits = []
    for code in (left, right):
        exec(code, dict(names))
        with torch.no_grad():
            logits.append(model(ids).logits)
    close(logits[1], logits[0])
