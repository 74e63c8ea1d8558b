from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import includes

COMPILER = "clang++-22"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(includes, "CACHE", tmp_path / "cache")


def llvm_flags() -> list[str]:
    folder = subprocess.check_output(["llvm-config-22", "--includedir"], text=True).strip()
    return ["-std=c++20", "-isystem", folder]


def make_source(folder: Path, name: str, text: str) -> includes.Source:
    file = folder / name
    file.write_text(text)
    return includes.Source(file, folder, COMPILER, llvm_flags())


def test_flags_of_a_build_without_its_precompiled_header() -> None:
    words = ["-DA=1", "-I/x", "-O3", "-fPIC", "-Wall", "-std=c++20", "-Winvalid-pch",
             "-Xclang", "-fno-pch-timestamp", "-Xclang", "-include-pch", "-Xclang", "a.pch",
             "-MD", "-MT", "a.o", "-MF", "a.d", "-o", "a.o", "-c", "a.cpp"]
    assert includes.plain_flags(words) == ["-DA=1", "-I/x", "-std=c++20"]


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"there is no {COMPILER}")
def test_a_forgotten_include_is_found(tmp_path: Path) -> None:
    good = '#include "llvm/ADT/SetVector.h"\nllvm::SetVector<int> values;\n'
    bad = '#include "llvm/ADT/StringRef.h"\nllvm::SetVector<int> values;\n'
    # Declarations of shared headers are hidden from a source that doesn't include all of them.
    one = '#include "llvm/ADT/STLExtras.h"\n'
    both = one + '#include "llvm/Support/raw_ostream.h"\n'
    use = "bool f() { llvm::outs(); return true; }\n"
    texts = {"good": good, "bad": bad, "one": one + use,
             **{f"both{number}": both + use for number in range(includes.SHARED)}}
    sources = [make_source(tmp_path, f"{name}.cpp", text) for name, text in texts.items()]
    results = {Path(file).stem: result
               for file, result in includes.check(sources, tmp_path / "out", jobs=2).items()}
    assert not results["good"]
    assert "SetVector" in results["bad"]
    assert "outs" in results["one"]
    assert not any(results[f"both{number}"] for number in range(includes.SHARED))
    assert [path.stem for path in (tmp_path / "out").glob("*.pch")] == ["set0"]


def test_a_source_takes_the_most_headers_that_it_includes() -> None:
    names = [frozenset(includes.HEAVY[:count]) for count in (1, 2, 4)]
    headers = {each: Path(f"{len(each)}.pch") for each in names}
    assert includes.choose_header(headers, frozenset(includes.HEAVY[:3])) == Path("2.pch")
    assert includes.choose_header(headers, frozenset(includes.HEAVY[1:])) is None


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"there is no {COMPILER}")
def test_keys_are_of_texts_and_not_of_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = []
    for name, number in (("first", 1), ("second", 1), ("third", 2)):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setattr(includes, "ROOT", folder)
        (folder / "a.h").write_text(f"inline int f() {{ return {number}; }}\n")
        source = make_source(folder, "a.cpp", '#include "a.h"\n')
        source.flags = ["-DA", f"-I{folder}"]
        keys.append(includes.make_key(source))
        source.flags.append("-DB")
        assert includes.make_key(source) != keys[-1]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"there is no {COMPILER}")
def test_sources_that_compiled_are_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = make_source(tmp_path, "good.cpp", "int a;\n")
    bad = make_source(tmp_path, "bad.cpp", "int a = b;\n")
    compiled = []
    run = includes.run_compiler
    monkeypatch.setattr(includes, "run_compiler", lambda source, *arguments: (
        compiled.append(source.file.name), run(source, *arguments))[1])
    for _ in range(2):
        results = includes.check([good, bad], tmp_path / "out", jobs=1)
        assert [bool(results[str(source.file)]) for source in (good, bad)] == [False, True]
    assert compiled == ["good.cpp", "bad.cpp", "bad.cpp"]
