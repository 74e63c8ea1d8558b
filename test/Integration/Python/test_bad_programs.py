"""Mistakes in programs: a place, a message, the line with a caret and a note that helps."""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import program
from nsacc.errors import CompileError

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
SMALL = "q: [B, T, {0}, D], k: [B, S, {1}, D]"
TOPK = "topk(prob(attend(q, pool(k, 32))), {0})"


def kernel(body: str, inputs: str = HEAD, result: str = "[B, T, HQ, DV]") -> str:
    return f"kernel f({inputs})\n    -> {result} {{\n  {body}\n}}"


MISTAKES = {
    "unknown_name": (kernel("return attend(q, k, w);"), 3, "unknown name 'w'"),
    "did_you_mean": (kernel("return atend(q, k, v);"), 3, "unknown function 'atend'"),
    "number_of_dimensions": (kernel("return attend(q, k, k);", "q: [B, T, D], k: [B, S, H, D]"), 3,
                             "the queries must have dimensions"),
    "heads": (kernel("return attend(q, k, k);", SMALL.format(6, 4)), 3,
              "6 query heads are not a multiple of 4 key heads"),
    "index_of_a_mask": (kernel("return attend(q, k, v) where l <= i;"), 3, "unknown name 'l'"),
    "score_in_a_mask": (kernel("return attend(q, k, v) where s > 0;"), 3, "'s' has no value"),
    "blocks_of_another_size": (
        kernel(f"return attend(q, pool(k, 64), pool(v, 64)) in {TOPK.format(4)};"), 3,
        "a selection of blocks of 32 tokens can't choose among pooled keys"),
    "top_0": (kernel(f"return attend(q, k, v) in {TOPK.format(0)};"), 3, "at least 1, found 0"),
    "top_real": (kernel(f"return attend(q, k, v) in {TOPK.format('2.5')};"), 3,
                 "must be an integer"),
    "too_many_blocks": (
        kernel(f"return attend(q, k, v) in {TOPK.format(2**31 - 1)} plus first 2;"), 3,
        "a row selects at most 2147483647 blocks"),
    "offset": (kernel("return attend(q, pooled(k, 8, 4, offset=-2147483648, of=T), v);"), 3,
               "the offset must be at least -2147483647"),
    "length_below_stride": (kernel("return attend(q, pool(k, 16, 32), pool(v, 16, 32));"), 3,
                            "less than the stride 32"),
    "stride_that_does_not_divide": (kernel("return attend(q, pool(k, 16, 6), pool(v, 16, 6));"), 3,
                                    "the stride 6 doesn't divide"),
    "overlapping_windows_as_blocks": (
        kernel("return attend(q, k, v) in topk(prob(attend(q, pool(k, 8, 4))), 2);"), 3,
        "are not blocks"),
    "condition_as_a_score": (kernel("return attend(q, k, v) score j <= i;"), 3,
                             "must be a real number"),
    "real_modulo": (kernel("return attend(q, k, v) score s mod 2;"), 3, "integer"),
    "other_spelling": (kernel("return attend(q, k, v) where j <= i && i > 0;"), 3, "'&&'"),
    "nesting": (kernel(f"return {'(' * 5000}q{')' * 5000};"), 3, "nested too deeply"),
    "negations": (kernel(f"return attend(q, k, v) where {'not ' * 5000}true;"), 3,
                  "nested too deeply"),
    "empty_file": ("", 1, "expected a kernel"),
    "comment_without_an_end": ("/* kernel", 1, "this comment has no end"),
    "result_dimensions": (kernel("return attend(q, k, v);", result="[B, T, H, DV]"), 3,
                          "expected a result with dimensions [B, T, H, DV]"),
}


@pytest.mark.parametrize("text, line, message", MISTAKES.values(), ids=MISTAKES)
def test_mistake(text, line, message):
    with pytest.raises(CompileError) as caught:
        program(text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column >= 1) == (line, True)
    assert error.notes
    assert "^" in str(error) or not text


def test_kernels_are_named_as_python_names_them() -> None:
    two = "\n".join(f"kernel {name}(x: [N, D]) -> [N, D] {{ return x + x; }}" for name in "fg")
    with pytest.raises(CompileError, match="has 2 kernels: give kernel='f' or kernel='g'"):
        nsacc.compile(two)
    assert nsacc.compile(two, kernel="f").kernel == "f"


def test_several_mistakes_in_one_run():
    with pytest.raises(CompileError) as caught:
        program(kernel("a = attend(q, k, w);\n"
                       "  c = pool(k, 8, 16);\n"
                       "  return attend(q, k, v) where x;"))
    errors = [one for one in caught.value.diagnostics if one.severity == "error"]
    assert [one.line for one in errors] == [3, 4, 5]


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "bytes.nsa"
    path.write_bytes(b"kernel f(q: [T]) -> [T] { return \xff; }")
    with pytest.raises(CompileError, match="UTF-8"):
        nsacc.compile(path)


def test_ten_megabytes():
    text = kernel("return attend(q, k, v);") + "// comment\n" * 900_000
    assert program(text).kernel == "f"
    with pytest.raises(CompileError, match="expected"):
        program("kernel " * 1_500_000)


def test_unknown_parameter_names_those_there_are():
    text = "kernel f<window = 4, top: real = 0.5>(q: [T]) -> [T] { return q; }"
    with pytest.raises(CompileError, match="has no parameter 'windw'") as caught:
        program(text, windw=8)
    assert any("window" in note.message for note in caught.value.notes)
    with pytest.raises(CompileError, match="'window' is an integer"):
        program(text, window=1.5)
    assert program(text, top=2)(np.ones(3, np.float32)).shape == (3,)
