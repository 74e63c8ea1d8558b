"""Program.package and nsacc.load."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nsacc
from nsacc.errors import ArgumentError

EXAMPLES = Path(__file__).parents[3] / "examples"
sys.path.insert(0, str(Path(__file__).parents[2] / "Tools/Inputs"))
from package_seal import make_file  # noqa: E402

SIZES = {"HQ": 4, "H": 2, "D": 32, "DV": 16}


@pytest.fixture(scope="module")
def program() -> nsacc.Program:
    return nsacc.compile(EXAMPLES / "nsa.nsa", dtype="f32", top=4)


@pytest.fixture(scope="module")
def package(program: nsacc.Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packages") / "nsa.nsapkg"
    program.package(path, [SIZES, {**SIZES, "HQ": 6}])
    return path


def make_inputs(heads: int = 4, tokens: int = 150, width: int = 32) -> list[np.ndarray]:
    rng = np.random.default_rng(tokens)

    def make(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    return [make(2, tokens, heads, width), make(2, tokens, 2, width), make(2, tokens, 2, 16),
            *(make(2, tokens, heads) for _ in range(3))]


@pytest.mark.parametrize("tokens", (0, 1, 63, 150))
@pytest.mark.parametrize("heads", (4, 6))
def test_loaded_programs_run(program, package, heads: int, tokens: int) -> None:
    loaded = nsacc.load(package)
    inputs = make_inputs(heads, tokens)
    np.testing.assert_allclose(loaded(*inputs), program(*inputs), atol=1e-5)
    result, timing = loaded.run_timed(inputs, threads=1)
    assert np.array_equal(result, loaded(*inputs)) and timing.compile_seconds == 0


def test_loaded_programs_are_programs(program, package) -> None:
    loaded = nsacc.load(str(package))
    assert (loaded.kernel, loaded.signature, dict(loaded.params)) == (
        program.kernel, program.signature, dict(program.params))
    assert loaded.target == "x86-64-v4, x86-64-v3"
    assert loaded.phases == () and loaded.source == "" and loaded.file == str(package)
    assert "target='x86-64-v4, x86-64-v3'" in repr(loaded)
    inputs = make_inputs()
    again = pickle.loads(pickle.dumps(loaded))
    assert np.array_equal(again(*inputs), loaded(*inputs))
    # Calls by name, in other layouts, and the resulting shapes.
    names = [spec.name for spec in loaded.signature.inputs]
    assert np.array_equal(loaded(**dict(zip(names, inputs))), loaded(*inputs))
    odd = [np.asfortranarray(one) for one in inputs]
    assert np.array_equal(loaded(*odd), loaded(*inputs))
    assert loaded.result_shapes(*inputs) == {"out": (2, 150, 4, 16)}


def test_messages_are_those_of_the_program(program, package) -> None:
    loaded = nsacc.load(package)
    inputs = make_inputs()
    for wrong in (inputs[:3], [inputs[0][0], *inputs[1:]], [inputs[0].astype(np.float64),
                                                            *inputs[1:]]):
        with pytest.raises(ArgumentError) as expected:
            program(*wrong)
        with pytest.raises(ArgumentError) as found:
            loaded(*wrong)
        assert str(found.value) == str(expected.value)
    with pytest.raises(ArgumentError, match="has no code for these sizes: it is for HQ = 4 "
                                            r"\(found 2\); HQ = 6 \(found 2\)"):
        loaded(*make_inputs(heads=2))
    with pytest.raises(ArgumentError, match="input 'q': D is 64 in .* was compiled for D = 32"):
        loaded(*make_inputs(width=64))
    for phase in ("nsa", "tile", "schedule"):
        with pytest.raises(ArgumentError):
            loaded.ir(phase)
    with pytest.raises(ArgumentError, match="of a package already"):
        loaded.package("x.nsapkg", SIZES)
    with pytest.raises(ArgumentError, match="f64"):
        loaded.run(inputs, f64_results=True)


def test_ragged_rows_and_results_of_computed_sizes(tmp_path: Path) -> None:
    program = nsacc.compile("""
kernel f(q: f32[ragged T, HQ, D], k: f32[ragged T, H, D])
    -> (f32[ragged T, HQ, D], f32[ragged N, H, D]) {
  return attend(q, k, k) where j <= i, pool(k, 4);
}""")
    program.package(tmp_path / "f.nsapkg", {"HQ": 2, "H": 1, "D": 8})
    loaded = nsacc.load(tmp_path / "f.nsapkg")
    rng = np.random.default_rng(0)
    offsets = np.array([0, 5, 5, 18], np.int32)
    inputs = [rng.standard_normal((18, heads, 8), dtype=np.float32) for heads in (2, 1)]
    named = dict(zip([spec.name for spec in program.signature.inputs], [*inputs, offsets]))
    for left, right in zip(loaded(**named), program(**named), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6)


def test_tables_of_ragged_rows_have_an_entry_for_each(tmp_path: Path) -> None:
    program = nsacc.compile("""
kernel f(q: f32[ragged T, H, D], slope: f32[R, H]) -> f32[ragged T, H, D] {
  return attend(q, q, q) where j <= i score s * slope[b, h];
}""")
    program.package(tmp_path / "f.nsapkg", {"H": 2, "D": 8})
    loaded = nsacc.load(tmp_path / "f.nsapkg")
    q, slope = np.ones((18, 2, 8), np.float32), np.ones((6, 2), np.float32)
    offsets = np.array([0, 5, 5, 18], np.int32)
    np.testing.assert_allclose(loaded(q, slope[:3], offsets), q, atol=1e-6)
    with pytest.raises(ArgumentError, match="dimension R is 6 in 'slope', but 'T_offsets' has"):
        loaded(q, slope, offsets)


def test_several_targets(program, tmp_path: Path) -> None:
    path = tmp_path / "all.nsapkg"
    program.package(path, SIZES, targets=("sm_80", "cpu"))
    loaded = nsacc.load(path)
    assert loaded.target == "sm_80, x86-64-v4, x86-64-v3"
    inputs = make_inputs()
    np.testing.assert_allclose(loaded(*inputs), program(*inputs), atol=1e-5)
    program.package(path, SIZES, targets=["sm_80"])
    with pytest.raises(ArgumentError, match="driver"):
        nsacc.load(path)(*inputs)


def test_what_cannot_be_a_package(program, tmp_path: Path) -> None:
    path = tmp_path / "x.nsapkg"
    for sizes, targets, message in (
            ({"HQ": 4}, None, "a package depends on sizes .* of 'D', 'H', 'DV'"),
            ({**SIZES, "X": 1}, None, "no dimension 'X'"),
            ({**SIZES, "D": "x"}, None, "'D': 'x' isn't a size"),
            (SIZES, "cpu", r"targets is the string 'cpu', expected a list, as \['cpu'\]"),
            (SIZES, (), "expected a list"), (SIZES, ("oracle",), "expected a list of compiled"),
            (SIZES, [None], r"targets is \[None\], expected a list of compiled targets"),
            (SIZES, 3, "targets is 3, expected a list"), ([], None, "sizes is empty"),
            (None, None, "are a NoneType, expected a mapping"),
            ("HQ", None, "are a str, expected a mapping"), (3, None, "expected a mapping")):
        with pytest.raises(ArgumentError, match=message):
            program.package(path, sizes, targets=targets)
    for nothing in (None, 3):
        with pytest.raises(ArgumentError, match="path is a .*, expected the path of a file to"):
            program.package(nothing, SIZES)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="none/x.nsapkg'$"):
        program.package(tmp_path / "none" / "x.nsapkg", SIZES)


def test_what_stands_at_the_path(program, tmp_path: Path) -> None:
    """A link stays one, and a device is written to, not replaced."""
    target, link, device = tmp_path / "target", tmp_path / "link", tmp_path / "null"
    link.symlink_to(target)
    program.package(link, SIZES)
    assert link.is_symlink() and nsacc.load(target).kernel == "nsa"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    program.package(device, SIZES)
    assert device.is_char_device()


def test_damaged_files_are_errors(package, tmp_path: Path) -> None:
    whole = package.read_bytes()
    path = tmp_path / "x.nsapkg"
    for damaged in (b"", whole[:-1], whole[:100] + b"x" + whole[101:], b"nonsense"):
        path.write_bytes(damaged)
        with pytest.raises(ArgumentError, match="x.nsapkg: .*package"):
            nsacc.load(path)
    with pytest.raises(OSError):
        nsacc.load(tmp_path / "none")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Packages that were sealed again are whole, but may hold anything."""
    path = tmp_path / "x.nsapkg"
    program = nsacc.compile("""kernel named(query: f32[Batch, Width], factor: f32)
    -> (scaled: f32[Batch, Width]) { return query * factor; }""")
    program.package(path, {"Batch": 1, "Width": 8})
    whole = path.read_bytes()
    body = whole[40:]
    assert make_file(body) == whole
    for name in (b"query", b"scaled", b"named", b"Batch", b"Width", b"factor"):
        path.write_bytes(make_file(body.replace(name, b"\xff" * len(name))))
        with pytest.raises(ArgumentError, match="x.nsapkg: "):
            nsacc.load(path)


def test_loading_needs_no_time(package) -> None:
    """A process that loads is ready at once: nothing is compiled."""
    code = f"import nsacc; nsacc.load({str(package)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
