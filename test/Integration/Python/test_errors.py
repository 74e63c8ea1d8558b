"""Errors that users get: class, place, words."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import nsacc
from nsacc.errors import (
    ArgumentError,
    CompileError,
    Diagnostic,
    InternalError,
    NsaccError,
    TargetError,
)

TWO_ERRORS = """kernel f(q: [B, T, H, D]) -> [B, T, H, D] {
  x = nothing;
  y = nowhere;
  return q;
}
"""

ADD = """
kernel add(x, y: f32[M, N], n: i32, r: f32, on: bool) -> f32[M, N] {
  return x + y;
}"""


@pytest.fixture(scope="module")
def add():
    return nsacc.compile(ADD, target="oracle")


@pytest.fixture
def x():
    return np.ones((2, 3), np.float32)


def test_classes():
    for error in (CompileError, ArgumentError, TargetError, InternalError):
        assert issubclass(error, NsaccError)
    assert issubclass(ArgumentError, ValueError)


def test_compile_error_has_place_and_all_diagnostics():
    with pytest.raises(CompileError) as caught:
        nsacc.compile(TWO_ERRORS)
    error = caught.value
    assert (error.file, error.line, error.column) == ("<source>", 2, 7)
    assert "nothing" in error.message
    assert [(one.severity, one.line, one.column, one.end_column) for one in error.diagnostics] \
        == [("error", 2, 7, 14), ("error", 3, 7, 14)]


def test_compile_error_prints_source_and_caret():
    with pytest.raises(CompileError) as caught:
        nsacc.compile(TWO_ERRORS)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("<source>:2:7: error: ")
    source = next(index for index, line in enumerate(lines) if "x = nothing;" in line)
    caret = lines[source + 1]
    assert caret.index("^") == lines[source].index("nothing")


def test_compile_error_has_notes(tmp_path):
    path = tmp_path / "twice.nsa"
    path.write_text("kernel f(q: [B, T, H, D]) -> [B, T, H, D] {\n  q = q;\n  return q;\n}\n")
    with pytest.raises(CompileError) as caught:
        nsacc.compile(path)
    error = caught.value
    assert (error.file, error.line) == (str(path), 2)
    assert error.notes
    assert all(isinstance(note, Diagnostic) and note.severity == "note" for note in error.notes)
    assert error.notes[0].message in str(error)


def test_errors_can_be_pickled():
    with pytest.raises(CompileError) as caught:
        nsacc.compile(TWO_ERRORS)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is CompileError
    assert str(again) == str(caught.value) and again.message == caught.value.message
    assert again.diagnostics == caught.value.diagnostics


def test_errors_of_few_words():
    error = ArgumentError("short", "short\nand long\n")
    assert (error.message, str(error), error.diagnostics) == ("short", "short\nand long", ())
    assert (str(ArgumentError("short")), str(NsaccError())) == ("short", "")


@pytest.mark.parametrize("source", ["", "kernel", "kernel f(", "\udcff", "kernel f\0", "{" * 5000,
                                    "kernel f() -> [] { return " + "(" * 200_000])
def test_bad_sources(source):
    with pytest.raises(CompileError) as caught:
        nsacc.compile(source)
    assert caught.value.diagnostics


def test_unknown_parameters():
    with pytest.raises(CompileError, match="windw"):
        nsacc.compile("kernel f<window = 3>(q: [N]) -> [N] { return q; }", windw=3)


@pytest.mark.parametrize("value", [None, [1], 1j, object()])
def test_parameters_without_meaning(value):
    with pytest.raises(ArgumentError, match="parameter 'n'"):
        nsacc.compile("kernel f<n = 3>(q: [N]) -> [N] { return q; }", n=value)


def test_parameter_nan_and_twice():
    source = "kernel f<r = 3.0>(q: [N]) -> [N] { return q; }"
    with pytest.raises(ArgumentError, match="NaN"):
        nsacc.compile(source, r=float("nan"))
    with pytest.raises(ArgumentError, match="twice"):
        nsacc.compile(source, params={"r": 1.0}, r=2.0)


@pytest.mark.parametrize("target", ["cudaa", "sm_75", "sm_90", "", "Oracle"])
def test_unknown_targets(target):
    with pytest.raises(TargetError, match=r"'oracle'"):
        nsacc.compile(ADD, target=target)


@pytest.mark.parametrize("dtype", ["f64", "int8", "float64", np.int32, object(), ""])
def test_unknown_dtypes(dtype):
    with pytest.raises(ArgumentError, match="'bf16', 'f16' or 'f32'"):
        nsacc.compile(ADD, dtype=dtype)


@pytest.mark.parametrize("options", [{"target": None}, {"kernel": 5}, {"params": {3: 4}}])
def test_options_of_a_wrong_type(options):
    with pytest.raises(ArgumentError, match="expected a string"):
        nsacc.compile(ADD, **options)


def test_program_of_a_wrong_type():
    with pytest.raises(ArgumentError, match="int"):
        nsacc.compile(3)


def test_missing_unknown_and_surplus_inputs(add, x):
    with pytest.raises(ArgumentError, match=r"misses 3 inputs: n: i32, r: f32, on: bool"):
        add(x, x)
    with pytest.raises(ArgumentError, match=r"misses an input: on: bool"):
        add(x, x, 1, 1.0)
    with pytest.raises(ArgumentError, match=r"no input 'z': it takes x, y, n, r, on"):
        add(x, x, 1, 1.0, z=True)
    with pytest.raises(ArgumentError, match="'y' is given twice"):
        add(x, x, y=x)
    with pytest.raises(ArgumentError, match="takes 5 inputs, found 6: add"):
        add(x, x, 1, 1.0, True, 5)


def test_missing_offsets_are_explained():
    program = nsacc.compile("kernel f(q: f32[ragged T, HQ, D]) -> f32[ragged T, HQ, D] "
                            "{ return attend(q, q, q) where j <= i; }")
    q = np.zeros((12, 1, 4), np.float32)
    with pytest.raises(ArgumentError, match=r"misses an input: T_offsets: i32\[offsets\(T\)\]\n"
                                            r"T_offsets: where each row begins .* np.cumsum"):
        program(q)
    lengths = r"found 5: these look like the rows' lengths; .* np.cumsum\(\[0, \*lengths\]\)"
    with pytest.raises(ArgumentError, match=f"must start with 0, {lengths}"):
        program(q, np.array([5, 0, 7], np.int32))


def test_unknown_input_suggestions():
    program = nsacc.compile("kernel f<window = 3>(query: f32[N]) -> f32[N] { return query; }")
    with pytest.raises(ArgumentError, match="did you mean 'query'"):
        program(qeury=np.ones(3, np.float32))
    with pytest.raises(ArgumentError, match=r"a parameter of that name: set it in nsacc\.compile"):
        program(window=4)


def test_shapes_that_do_not_fit(add, x):
    with pytest.raises(ArgumentError, match=r"dimension N is 3 in 'x' but 4 in 'y'"):
        add(x, np.ones((2, 4), np.float32), 1, 1.0, True)
    with pytest.raises(ArgumentError, match=r"'y'.*expected 2.*y: f32\[M, N\]"):
        add(x, x[0], 1, 1.0, True)


def test_dtypes_that_do_not_fit(add, x):
    with pytest.raises(ArgumentError) as caught:
        add(x, x.astype(np.float16), 1, 1.0, True)
    assert "'y' holds f16, expected f32: the program declares y: f32[M, N]." in str(caught.value)
    assert "y.astype(np.float32)" in str(caught.value)
    with pytest.raises(ArgumentError, match=r"'n' holds i64.*\n.*n\.astype\(np\.int32\)"):
        add(x, x, np.array(3), 1.0, True)


def test_texts_begin_with_the_error():
    """Warnings about code in front of it come behind it."""
    with pytest.raises(CompileError) as caught:
        nsacc.compile("""kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> [B, T, HQ, D] {
  a = attend(q, k, k) where j <= t;
  return a + attend(q, k, k) where j <= ii;
}""")
    error = caught.value
    assert str(error).startswith("<source>:3:41: error: unknown name 'ii'"), str(error)
    assert [one.severity for one in error.diagnostics] == ["error", "warning"]
    assert "2:29: warning: 't' is the query's row of T" in str(error)
    assert (error.line, error.message) == (3, error.diagnostics[0].message)


@pytest.mark.parametrize("dtype", ["bool", "i32", "i64", "f16", "f32"])
def test_conversions_are_names_of_every_numpy(dtype):
    """NumPy 1.26, the oldest that the package takes, has no np.bool."""
    program = nsacc.compile(f"kernel f(x: {dtype}[N]) -> {dtype}[N] {{ return x; }}")
    wrong = np.zeros(2, np.int64 if dtype != "i64" else np.int32)
    with pytest.raises(ArgumentError) as caught:
        program(wrong)
    (hint,) = re.findall(r"x\.astype\([^)]*\)", str(caught.value))
    assert program(eval(hint, {"x": wrong, "np": np})).shape == (2,)
    assert "np.bool" not in hint


def test_types_that_are_no_tensors(add, x):
    with pytest.raises(ArgumentError, match=r"'y' is a list, expected a NumPy array"):
        add(x, [[1.0]], 1, 1.0, True)
    with pytest.raises(ArgumentError, match=r"'y' is None"):
        add(x, None, 1, 1.0, True)
    with pytest.raises(ArgumentError, match=r"'y' is a number, expected a tensor"):
        add(x, 1.0, 1, 1.0, True)


@pytest.mark.parametrize("n, r, on", [(1.5, 1.0, True), (True, 1.0, True), (1, True, True),
                                     (1, 1.0, 1), (2**31, 1.0, True), (-2**70, 1.0, True)])
def test_numbers_of_another_kind(add, x, n, r, on):
    with pytest.raises(ArgumentError):
        add(x, x, n, r, on)


def test_dtypes_nothing_has(add, x):
    for dtype in (np.int8, np.complex64, object, "U3", [("a", "f4")], "M8[s]"):
        with pytest.raises(ArgumentError, match="'y'"):
            add(x, np.zeros((2, 3), dtype), 1, 1.0, True)
    with pytest.raises(ArgumentError, match=r"byte order.*astype\(np\.float32\)"):
        add(x, np.zeros((2, 3), ">f4"), 1, 1.0, True)
    with pytest.raises(ArgumentError, match="masked"):
        add(x, np.ma.masked_invalid(x), 1, 1.0, True)


def test_what_cannot_be_compiled_has_a_place():
    program = nsacc.compile("""kernel shared(q: [B, T, HQ, D], k: [B, S, H, D]) -> [B, T, HQ, D] {
  gist = attend(q, pool(k, 2));
  sel = topk(score(gist, heads=none), 1) share heads 2;
  return attend(q, k, k) in sel;
}""", dtype="f32")
    with pytest.raises(CompileError) as caught:
        program(np.zeros((1, 2, 6, 8), np.float32), np.zeros((1, 2, 2, 8), np.float32))
    assert caught.value.line > 0 and "^" in str(caught.value)
    assert "target 'oracle'" in caught.value.notes[-1].message


@pytest.mark.parametrize("target", ["cpu", "sm_90a", "sm_80"])
@pytest.mark.parametrize("schedule", ["tokens=abc", "lines=4", "slc: keys=8", "windows=4",
                                      "order=diagonal", "tokens=0", "splits=-1", "warps=33",
                                      "tokens=70000"])
def test_schedules_are_checked_with_the_program(target, schedule):
    source = "kernel f(x: f32[B, T, H, D]) -> f32[B, T, H, D] { return attend(x, x, x); }"
    with pytest.raises(ArgumentError, match=f"can't use the schedule '{schedule}'"):
        nsacc.compile(source, target=target, schedule=schedule)


@pytest.mark.parametrize("arguments, expected", [
    ({"target": 3}, "target is a int, expected a string"),
    ({"target": None}, "target is a NoneType, expected a string"),
    ({"device": 64}, "device is a int, expected the path of a JSON file"),
    ({"schedule": 64}, "schedule is a int, expected a string"),
    ({"kernel": 1}, "kernel is a int, expected a string"),
    ({"params": 3}, "params is a int, expected a mapping of names to values"),
    ({"params": {1: 2}}, "a parameter's name is a int, expected a string"),
    ({"params": {"n": [1]}}, "parameter 'n' is a list, expected an integer"),
    ({"n": object()}, "parameter 'n' is a object, expected an integer"),
    ({"dtype": 3}, "dtype is 3, expected 'bf16'"),
    ({"dtype": None}, "dtype is None, expected 'bf16'"),
    ({"path": 3}, "path is a int, expected a string or a path"),
])
def test_wrong_types_are_named(arguments, expected):
    source = "kernel f<n = 1>(x: [B]) -> [B] { return x * n; }"
    program = () if "path" in arguments else (source,)
    with pytest.raises(ArgumentError, match=expected):
        nsacc.compile(*program, **arguments)


def test_wrong_kinds_of_inputs():
    program = nsacc.compile("kernel f(x: f32[A, B]) -> f32[A, B] { return x; }", target="oracle")
    for wrong in (np.array([[object()]]), np.array([["a"]]), np.zeros((1, 1), np.complex64),
                  [[1.0]], None, "text", {}):
        with pytest.raises(ArgumentError, match="'x'"):
            program(wrong)
    with pytest.raises(ArgumentError, match="dimensions|rank"):
        program(np.zeros((1,) * 32, np.float32))
    with pytest.raises(ArgumentError, match="threads"):
        program.run([np.zeros((1, 1), np.float32)], threads="many")
    with pytest.raises(ArgumentError, match="inputs"):
        program.run(3)


@pytest.mark.parametrize("value, expected", [
    ([[1.0]], r"'x' is a list, expected a NumPy array, .*\nPass np\.array\(x, np\.float32\)\."),
    (((1.0,),), r"'x' is a tuple, .*\nPass np\.array\(x, np\.float32\)\."),
    ([np.ones(1, np.float32)], r"'x' is a list, .*\nPass np\.stack\(x\)\."),
    (None, r"'x' is None, expected a NumPy array"),
    ({}, r"'x' is a dict, expected a NumPy array"),
    (np.zeros((1, 1), [("a", "f4")]), r"'x' has fields, .*: pass one of them, x\['a'\]"),
    (np.zeros((1, 1), object), r"'x' holds Python objects, .*\nPass x\.astype\(np\.float32\)"),
    (np.zeros((1, 1), "U1"), r"'x' holds text, dtype <U1, expected f32"),
    (np.zeros((1, 1), complex), r"'x' holds complex numbers, dtype complex128, expected f32"),
    (np.zeros((1, 1), "M8[s]"), r"'x' holds dates, .* expected f32"),
    (np.ones((1, 1), ">f4"), r"'x' has the byte order of another machine"),
    (np.ones(1, np.float32), r"'x' has 1 dimension, expected 2: found shape \[1\]"),
    (np.array(1, np.float32), r"'x' has 0 dimensions, expected 2: found shape \[\]"),
])
def test_what_is_no_tensor_of_the_program(value, expected):
    program = nsacc.compile("kernel f(x: f32[A, B]) -> f32[A, B] { return x; }", target="oracle")
    with pytest.raises(ArgumentError, match=expected):
        program(value)


def test_lists_for_bf16_and_of_torch():
    torch = pytest.importorskip("torch")
    program = nsacc.compile("kernel f(x: [A], n: f32) -> [A] { return x * n; }", target="oracle")
    with pytest.raises(ArgumentError, match=r"Pass np\.array\(x, ml_dtypes\.bfloat16\)\."):
        program([1.0], 1)
    with pytest.raises(ArgumentError, match=r"Pass torch\.stack\(x\)\."):
        program([torch.ones(1)], 1)
    x = torch.ones(1, dtype=torch.bfloat16)
    for wrong in ([1.0], None, "1", {}):
        with pytest.raises(ArgumentError, match="'n' is .*, expected a number: the program"):
            program(x, wrong)
    nested = torch.nested.as_nested_tensor([torch.ones(1)])
    with pytest.raises(ArgumentError, match="'x' is a nested tensor, expected a dense one"):
        program(nested, 1)


@pytest.mark.parametrize("name, expected", [
    ("Q", "no input 'Q'; did you mean 'q'"),
    ("w", "no input 'w', but a parameter of that name: set it in nsacc.compile"),
    ("N", "no input 'N': it is a dimension, whose size the inputs tell"),
    ("threads", r"no input 'threads': it is an option of run, as in program\.run"),
    ("dtype", "no input 'dtype': it is an argument of nsacc.compile"),
])
def test_names_that_are_no_inputs(name, expected):
    program = nsacc.compile("kernel f<w = 1>(q: [N]) -> [N] { return q * w; }", target="oracle")
    with pytest.raises(ArgumentError, match=expected):
        program(**{name: np.zeros(1, np.float32)})


def test_one_input_is_no_list_of_them():
    program = nsacc.compile("kernel f(x: f32[A]) -> f32[A] { return x; }", target="oracle")
    for wrong, kind in (("x", "str"), (np.ones(1, np.float32), "ndarray")):
        with pytest.raises(ArgumentError, match=f"inputs is a {kind}, expected a list"):
            program.run(wrong)


def test_misspelled_arguments_are_named():
    with pytest.raises(nsacc.errors.CompileError, match="has no parameter 'dtpye'") as caught:
        nsacc.compile("kernel f(x: [N]) -> [N] { return x; }", dtpye="f32")
    assert caught.value.__notes__ == ["nsacc.compile has an argument 'dtype': is that meant by "
                                      "'dtpye'?"]


def test_sizes_that_no_target_takes():
    program = nsacc.compile("kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> [B, T, HQ, D] "
                            "{ return attend(q, k, k); }", target="sm_80")
    with pytest.raises(ArgumentError, match="HQ = 3 query heads are not a multiple of H = 2 key"):
        program.ir("tile", HQ=3, H=2, D=64)


def test_run_time_errors_name_tensor_and_value():
    program = nsacc.compile("""
kernel given(q, k, v: [B, T, H, D], idx: i32[B, T, H, 1]) -> [B, T, H, D] {
  return attend(q, k, v) in selection(idx, 2) where j <= i;
}""", dtype="f32", target="oracle")
    q = np.ones((1, 4, 2, 8), np.float32)
    idx = np.zeros((1, 4, 2, 1), np.int32)
    idx[0, 3, 1, 0] = 55
    with pytest.raises(ArgumentError, match=r"idx(.|\n)*55"):
        program(q, q, q, idx)


@pytest.mark.parametrize("text", ["flash", "/programs/flash", "examples/flash.mlir"])
def test_text_that_is_no_program(text):
    with pytest.raises(ArgumentError, match="neither a program's text.*nor its file"):
        nsacc.compile(text)


def test_unknown_phase_names_all():
    program = nsacc.compile("kernel f(x: f32[A]) -> f32[A] { return x; }")
    with pytest.raises(ArgumentError, match="has 'frontend', 'nsa', 'tile', 'schedule'$"):
        program.ir("poem")


@pytest.mark.parametrize("most, make", [
    (255, lambda n: "return " + "(" * n + "q" + ")" * n),
    (254, lambda n: "return attend(q, q, q) score " + "(" * n + "s" + ")" * n),
    (255, lambda n: "return q" + " + q" * n)], ids=["parentheses", "score", "operators"])
def test_nesting_ends_where_the_specification_says(most, make):
    def build(depth: int) -> nsacc.Program:
        return nsacc.compile("kernel f(q: f32[B, T, H, D]) -> f32[B, T, H, D] "
                             f"{{ {make(depth)}; }}", target="oracle")
    build(most)
    with pytest.raises(nsacc.errors.CompileError, match="nested too deeply"):
        build(most + 1)


def test_unknown_option_of_run():
    program = nsacc.compile("kernel f(x: f32[A]) -> f32[A] { return x; }")
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'thread': did "
                                        r"you mean 'threads'\?"):
        program.run([], thread=1)


def test_run_takes_one_list_of_inputs(add):
    x = np.ones(3, np.float32)
    for call in (lambda: add.run(x, x), lambda: add.run(x, y=x), lambda: add.run(x=x, y=x),
                 lambda: add.run_timed(x, x)):
        with pytest.raises(TypeError, match=r"program.run\(\[.*\]\); a call takes them one by one: "
                                            r"program\("):
            call()


def test_names_that_are_no_strings():
    """It used to be an AttributeError of int."""
    program, x = nsacc.compile(ADD, dtype="f32"), np.ones(1, np.float32)
    for name in (1, None, ("x",)):
        with pytest.raises(ArgumentError, match=f"inputs has {re.escape(repr(name))} in the place "
                                                f"of a name, expected names of inputs: "):
            program.run({name: x})
