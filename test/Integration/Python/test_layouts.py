"""Heads in front of tokens: equal results for any order of the caller's dimensions."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import nsacc
from harness import normal
from nsacc.errors import ArgumentError, CompileError

RNG = np.random.default_rng(0)
TARGETS = ("oracle", "cpu")

DENSE = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
PACKED = "q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV]"
SOURCES = {
    "dense": f"kernel f({DENSE}) -> [B, T, HQ, DV] {{ return attend(q, k, v) where j <= i; }}",
    "lse": f"kernel f({DENSE}) -> (o: [B, T, HQ, DV], l: f32[B, T, HQ]) "
           "{ a = attend(q, k, v) where j <= i; return a, lse(a); }",
    "gates": f"kernel f({DENSE}, g: [B, T, HQ], m: [T, HQ], x: [B, T, HQ, DV]) -> "
             "[B, T, HQ, DV] { return sigmoid(g) * attend(q, k, v) * m + x; }",
    "table": f"kernel f({DENSE}, bias: f32[HQ, S], doc: i32[B, S]) -> [B, T, HQ, DV] "
             "{ return attend(q, k, v) score s + bias[h, j] where doc[b, j] <= j; }",
    "selection": f"kernel f({DENSE}, idx: i32[B, T, H, 3]) -> [B, T, HQ, DV] "
                 "{ return attend(q, k, v) in selection(idx, 4, of=S) where j <= i; }",
    "chosen": f"kernel f({DENSE}, n: i32[B, T, H]) -> ([B, T, HQ, DV], i: i32[B, T, H, 3]) "
              "{ sel = topk(blocks(prob(attend(q, pool(k, 2))), 4), 3) count n keep last 1; "
              "return attend(q, k, v) in sel, indices(sel); }",
    "importance": f"kernel f({DENSE}) -> (f32[B, T, H, N], f32[B, T, HQ, N]) "
                  "{ a = attend(q, pool(k, 4, 2)); return prob(a), score(a, heads=none); }",
    "scores": f"kernel f({DENSE}, p: f32[B, T, H, M]) -> [B, T, HQ, DV] "
              "{ return attend(q, k, v) in topk(blocks(p, 4, map=identity, of=S), 2); }",
    "pooled": f"kernel f({DENSE}, kc: [B, N, H, D], vc: [B, N, H, DV]) -> [B, T, HQ, DV] "
              "{ return attend(q, pooled(kc, 4, 4, of=S), pooled(vc, 4, 4, of=S)) + "
              "attend(q, pool(k, 4, 2), pool(v, 4, 2)); }",
    "weights": f"kernel f({DENSE}, w: [H, 4]) -> [B, T, HQ, DV] "
               "{ return attend(q, pool(k, 4, 2, by=w), pool(v, 4, 2)); }",
    "ragged": f"kernel f({PACKED}, g: f32[ragged T, HQ]) -> (o: [ragged T, HQ, DV], "
              "l: f32[ragged T, HQ]) { a = attend(q, k, v) where j <= i; return g * a, lse(a); }",
    "ragged selection": f"kernel f({PACKED}, idx: i32[ragged T, H, 2]) -> [ragged T, HQ, DV] "
                        "{ return attend(q, k, v) in selection(idx, 4, of=S); }",
}
HEADS = r"(ragged [TSN]|[TSN]), (HQ|H)\b"


def swap(dims: tuple[str, ...]) -> tuple[int, ...]:
    """For each dimension of [.., heads, tokens, ..], its place in [.., tokens, heads, ..]."""
    order = list(range(len(dims)))
    for at in range(len(dims) - 1):
        if re.fullmatch(HEADS, ", ".join(dims[at:at + 2])):
            order[at], order[at + 1] = at + 1, at
    return tuple(order)


def heads_first(source: str) -> str:
    """The program with heads in front of tokens, marked once each."""
    head, arrow, body = source.partition("{")
    head = re.sub(HEADS, r"\2, \1", head)
    for name in ("HQ", "H"):
        head = re.sub(rf"\b{name}\b", f"heads {name}", head, count=1)
    return head + arrow + body


def make(spec, sizes):
    if spec.is_offsets:
        total = sizes[spec.dims[0].name]
        return np.array([0, total // 3, total // 3, total], np.int32)
    shape = [sizes.get(dim.name, dim.size) for dim in spec.dims]
    if spec.name == "idx":
        return RNG.integers(-1, 1, shape).astype(np.int32)
    if spec.dtype == "i32":
        return RNG.integers(0, 4, shape).astype(np.int32)
    return RNG.standard_normal(shape, dtype=np.float32)


def names(spec):
    return tuple(map(str, spec.dims))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("tokens,keys,heads", [(7, 13, (6, 2)), (1, 9, (7, 1)), (17, 17, (3, 3))])
def test_the_order_changes_nothing_else(name, target, tokens, keys, heads):
    source = SOURCES[name]
    first = nsacc.compile(source, target=target, dtype="f32")
    second = nsacc.compile(heads_first(source), target=target, dtype="f32")
    sizes = {"B": 2, "T": tokens, "S": keys, "HQ": heads[0], "H": heads[1], "D": 8, "DV": 5,
             "N": -(-keys // 4), "M": -(-keys // 4)}
    inputs = [make(spec, sizes) for spec in first.signature.inputs]
    expected = first.run(inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    swapped = [np.ascontiguousarray(value.transpose(swap(names(spec))))
               for spec, value in zip(first.signature.inputs, inputs)]
    for given in (swapped, [value.transpose(swap(names(spec)))
                            for spec, value in zip(first.signature.inputs, inputs)]):
        found = second.run(given)
        found = found if isinstance(found, tuple) else (found,)
        for spec, left, right in zip(first.signature.results, found, expected):
            right = right.transpose(swap(names(spec)))
            assert left.shape == right.shape
            assert left.flags.c_contiguous
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", SOURCES)
def test_the_signature_has_the_declared_order(name):
    first = nsacc.compile(SOURCES[name], dtype="f32").signature
    second = nsacc.compile(heads_first(SOURCES[name]), dtype="f32").signature
    for one, other in ((first.inputs, second.inputs), (first.results, second.results)):
        for left, right in zip(one, other):
            dims = names(left)
            assert names(right) == tuple(dims[at] for at in swap(dims))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("group", [1, 3, 5, 7])
def test_against_numpy(target, group):
    q, k, v = normal(RNG, 2, 2 * group, 5, 8), normal(RNG, 2, 2, 11, 8), normal(RNG, 2, 2, 11, 4)
    program = nsacc.compile(heads_first(SOURCES["dense"]), target=target, dtype="f32")
    scores = np.einsum("bhtd,bhsd->bhts", q, np.repeat(k, group, 1)) / np.sqrt(8)
    visible = np.arange(11)[None, :] <= np.arange(5)[:, None] + 6
    weights = np.where(visible, np.exp(scores), 0)
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("bhts,bhsd->bhtd", weights, np.repeat(v, group, 1))
    np.testing.assert_allclose(program(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_against_torch():
    torch = pytest.importorskip("torch")
    program = nsacc.compile(
        "kernel f(q: [B, heads H, T, D], k: [B, H, S, D], v: [B, H, S, D]) -> [B, H, T, D] "
        "{ return attend(q, k, v) where j <= i; }", dtype="f32")
    q, k, v = (torch.randn(2, 3, 33, 16) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    found = program(q, k, v)
    assert found.shape == expected.shape and found.is_contiguous()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    apart = torch.randn(2, 33, 3, 3, 16).unbind(2)
    views = [each.transpose(1, 2) for each in apart]
    expected = torch.nn.functional.scaled_dot_product_attention(*views, is_causal=True)
    torch.testing.assert_close(program(*views), expected, rtol=1e-4, atol=1e-5)


def test_heads_in_front_of_everything():
    source = ("kernel f(q: [heads H, B, T, D], k: [H, B, S, D], v: [B, S, H, D]) -> [B, T, H, D] "
              "{ return attend(q, k, v); }")
    plain = nsacc.compile("kernel f(q: [B, T, H, D], k: [B, S, H, D], v: [B, S, H, D]) -> "
                          "[B, T, H, D] { return attend(q, k, v); }", dtype="f32")
    q, k, v = normal(RNG, 2, 5, 3, 8), normal(RNG, 2, 7, 3, 8), normal(RNG, 2, 7, 3, 8)
    found = nsacc.compile(source, dtype="f32")(q.transpose(2, 0, 1, 3), k.transpose(2, 0, 1, 3), v)
    np.testing.assert_allclose(found, plain(q, k, v), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_errors_speak_in_the_declared_order(target):
    q, k, v = normal(RNG, 2, 2, 5, 8), normal(RNG, 2, 1, 11, 8), normal(RNG, 2, 1, 11, 4)
    program = nsacc.compile(heads_first(SOURCES["selection"]), target=target, dtype="f32")
    idx = np.zeros((2, 1, 5, 3), np.int32)
    idx[1, 0, 3, 2] = 9
    with pytest.raises(ArgumentError, match=re.escape("'idx' at [1, 0, 3, 2] is 9")):
        program(q, k, v, idx)
    with pytest.raises(ArgumentError, match=re.escape("declares q: f32[B, HQ, T, D]")):
        program(q[0], k, v, idx)
    with pytest.raises(ArgumentError, match="S is 11 in 'k' but 10 in 'v'"):
        program(q, k, v[:, :, :10], idx)
    program = nsacc.compile(heads_first(SOURCES["chosen"]), target=target, dtype="f32")
    n = np.zeros((2, 1, 5), np.int32)
    n[1, 0, 3] = 9
    with pytest.raises(ArgumentError, match=re.escape("'n' at [1, 0, 3] is 9")):
        program(q, k, v, n)
    table = nsacc.compile(heads_first(SOURCES["dense"].replace(
        ") ->", ", bias: f32[T, HQ]) ->").replace("where", "score s + bias[h, 50] where")),
        target=target, dtype="f32")
    with pytest.raises(ArgumentError, match=re.escape("is read at [0, 50], but dimension T")):
        table(q, k, v, normal(RNG, 2, 5))


def test_names_that_suggest_another_order_are_warned_of():
    source = ("kernel f(q: [B, H, T, D], k: [B, H, T, D], v: [B, H, T, D]) -> [B, H, T, D] "
              "{ return attend(q, k, v); }")
    with pytest.warns(nsacc.CompileWarning) as caught:
        program = nsacc.compile(source)
    assert len(caught) == 1
    diagnostic = caught[0].message.diagnostic
    assert diagnostic == program.diagnostics[0]
    assert (diagnostic.severity, diagnostic.line, diagnostic.column) == ("warning", 1, 17)
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert "'H' stands in the place of tokens" in text
    assert "write 'heads H'" in text and "\n" in text and "^" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", nsacc.CompileWarning)
        with pytest.raises(nsacc.CompileWarning):
            nsacc.compile(source)
        nsacc.compile(heads_first(SOURCES["gates"]))
        nsacc.compile(SOURCES["gates"])


def test_a_name_is_heads_or_tokens():
    with pytest.raises(CompileError, match="'HQ' stands for tokens here, but for heads") as error:
        nsacc.compile("kernel f(q: [B, T, HQ, D], k: [B, HQ, S, D], v: [B, HQ, S, D]) -> "
                      "[B, T, HQ, D] { return attend(q, k, v); }")
    assert len(error.value.notes) == 2


def test_sizes_that_suggest_another_order_are_warned_of():
    program = nsacc.compile(SOURCES["dense"], dtype="f32")
    q, k = normal(RNG, 1, 8, 4, 16), normal(RNG, 1, 8, 2, 16)
    swapped = [x.swapaxes(1, 2) for x in (q, k, k)]
    calls = [lambda program: program(*swapped), lambda program: program.run(swapped),
             lambda program: program.run_timed(dict(zip("qkv", swapped)))]
    for call in calls:
        program = nsacc.compile(SOURCES["dense"], dtype="f32")
        with pytest.warns(UserWarning, match="queries T = 4 are more than keys S = 2") as caught:
            call(program)
        assert [warning.filename for warning in caught] == [__file__]
        # Once for each program.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for other in calls:
                other(program)
    # Prefill, a step of decoding, an empty cache, and keys of another text.
    other = nsacc.compile(f"kernel f({DENSE}) -> [B, T, HQ, DV] {{ return attend(q, k, v); }}",
                          dtype="f32")
    pooled = nsacc.compile(f"kernel f({DENSE}) -> [B, T, HQ, DV] "
                           "{ return attend(q, pool(k, 2), pool(v, 2)) where end(j) <= i; }",
                           dtype="f32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(q, k, k)
        program(q[:, :1], k, k)
        program(q, k[:, :0], k[:, :0])
        other(q, k[:, :3], k[:, :3])
        pooled(q, k, k)
    with pytest.warns(UserWarning, match="the mask shows the first 2 none"):
        pooled(*swapped)
    long = [normal(RNG, 1, heads, 64, 8) for heads in (8, 2, 2)]
    with pytest.warns(UserWarning, match=r"heads HQ = 64 are more than tokens T = 8 and S = 2: .*"
                                         r"declared as \[.., heads HQ, T, ..\]\. It is f\(q"):
        other(*long)


@pytest.mark.parametrize("shape", [(1, 8, 128, 64), (2, 16, 40, 64), (2, 4, 100, 32),
                                   (1, 32, 128, 128)], ids=str)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_first_experiments_in_the_order_of_torch(shape, library):
    """They ran silently, with 128 heads of 8 tokens."""
    make = pytest.importorskip(library)
    x = make.ones(shape) if library == "torch" else np.ones(shape, np.float32)
    source = SOURCES["dense"]
    program = nsacc.compile(source, dtype="f32")
    heads, tokens = shape[2], shape[1]
    with pytest.warns(UserWarning, match=rf"heads HQ = {heads} are more than tokens T = {tokens} "
                                         r".*as \[\.\., heads HQ, T, \.\.\], others, so that "
                                         r"nothing asks, as \[\.\., T, heads HQ, \.\.\]\. It is"):
        program(x, x, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program(x, x, x)
        # The warning names both remedies.
        nsacc.compile(heads_first(source), dtype="f32")(x, x, x)
        nsacc.compile(source.replace("T, HQ", "T, heads HQ", 1), dtype="f32")(x, x, x)


@pytest.mark.parametrize("tokens, heads", [(8, 32), (5, 12), (21, 40), (1, 40), (3, 4), (128, 128)])
def test_short_prompts_of_models_are_not_asked_about(tokens, heads):
    x = normal(RNG, 1, tokens, heads, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nsacc.compile(SOURCES["dense"], dtype="f32")(x, x, x)
