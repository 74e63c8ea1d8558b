"""Compiles each source of a build with the headers that it includes, and no others.

A build's precompiled header shows every source the declarations of some fifty headers, so that a
forgotten include goes unnoticed. Here a source sees a precompiled header only if it includes
everything in it. The headers of HEAVY that a source includes are its set: a set that several
sources have is compiled once, and a source takes the largest such set within its set. A source that
compiled before with equal headers isn't compiled again: its key is in CACHE.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import junit

# Headers that take long to compile; headers that others include come first.
HEAVY = ("llvm/ADT/STLExtras.h", "llvm/Support/raw_ostream.h", "mlir/IR/MLIRContext.h",
         "mlir/IR/BuiltinTypes.h", "mlir/IR/Builders.h", "mlir/IR/BuiltinOps.h",
         "mlir/IR/OpImplementation.h", "mlir/Interfaces/FunctionInterfaces.h",
         "mlir/Interfaces/SideEffectInterfaces.h", "mlir/Pass/PassManager.h",
         "mlir/Dialect/Arith/IR/Arith.h", "mlir/Dialect/SCF/IR/SCF.h", "mlir/IR/Matchers.h",
         "mlir/Dialect/Tensor/IR/Tensor.h", "mlir/Dialect/MemRef/IR/MemRef.h",
         "mlir/Dialect/LLVMIR/LLVMDialect.h", "NSA/IR/NSAOps.h", "NSATile/IR/NSATileOps.h",
         "gtest/gtest.h")
SHARED = 8
"""Sources for which a set is worth compiling."""
ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "nsacc-includes"
"""Empty files, named by the keys of sources that compiled."""


@dataclass
class Source:
    file: Path
    folder: Path
    compiler: str
    flags: list[str]


def main() -> int:
    arguments = parse_arguments()
    build = arguments.build.resolve()
    sources = read_sources(build / "compile_commands.json", arguments.match)
    start = time.monotonic()
    failures = check(sources, build / "includes", arguments.jobs)
    for failure in filter(None, failures.values()):
        print(failure)
    print(f"{len(failures)} sources in {time.monotonic() - start:.0f} s")
    junit.write(arguments.junit, failures)
    return 1 if any(failures.values()) or not failures else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="a tree that was built")
    parser.add_argument("--jobs", type=int, default=1, help="compilers side by side")
    parser.add_argument("--match", default="", help="only sources with this in their path")
    parser.add_argument("--junit", type=Path, required=True, help="result file to write")
    return parser.parse_args()


def read_sources(database: Path, match: str = "") -> list[Source]:
    """The C++ sources of a compilation database that use the precompiled header."""
    sources = []
    for entry in json.loads(database.read_text()):
        words = shlex.split(entry["command"])
        if "-include-pch" not in words:
            continue
        flags = plain_flags(words[1:])
        for file in read_parts(Path(entry["file"])):
            if match in str(file):
                sources.append(Source(file, Path(entry["directory"]), words[0], flags))
    return sources


def read_parts(file: Path) -> list[Path]:
    """The sources that are compiled together in `file`, or itself."""
    if file.parent.name != "Unity":
        return [file]
    return [Path(path) for path in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)]


def plain_flags(words: list[str]) -> list[str]:
    """The flags that decide the meaning of a source: no outputs, optimizations, precompiled
    headers."""
    flags, rest = [], iter(words)
    for word in rest:
        if word == "-Xclang":
            argument = next(rest)
            if argument == "-include-pch":
                next(rest), next(rest)
        elif word in ("-o", "-c", "-MF", "-MT"):
            next(rest)
        elif not word.startswith(("-O", "-M", "-f", "-W")):
            flags.append(word)
    return flags


def check(sources: list[Source], folder: Path, jobs: int) -> dict[str, str]:
    """The error of each source; an empty text if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    results = {str(source.file): "" for source in sources}
    stamps = [CACHE / make_key(source) for source in sources]
    left = [(source, stamp) for source, stamp in zip(sources, stamps) if not stamp.exists()]
    with ThreadPoolExecutor(jobs) as executor:
        own = [find_heavy(source) for source, _ in left]
        likes = {names: source for names, (source, _) in zip(own, left)
                 if names and own.count(names) >= SHARED}
        # The largest first: they take longest.
        sets = sorted(likes, key=len, reverse=True)
        headers = dict(zip(sets, executor.map(
            lambda names: precompile(names, likes[names], folder / f"set{sets.index(names)}"),
            sets)))
        errors = executor.map(
            lambda entry, names: compile_source(entry[0], choose_header(headers, names)),
            left, own)
        for (source, stamp), error in zip(left, errors):
            results[str(source.file)] = error
            if not error:
                stamp.touch()
    return results


def choose_header(headers: dict[frozenset[str], Path], names: frozenset[str]) -> Path | None:
    """The header of the largest set within `names`."""
    return headers.get(max(filter(names.issuperset, headers), key=len, default=None))


def find_heavy(source: Source) -> frozenset[str]:
    """The heavy headers that a source includes, itself or through others."""
    names, _ = find_included(source.file, include_folders(source.flags))
    return frozenset(names.intersection(HEAVY))


def include_folders(flags: list[str]) -> tuple[str, ...]:
    joined = [flag[2:] for flag in flags if flag.startswith("-I")]
    return (*joined, *(folder for flag, folder in zip(flags, flags[1:]) if flag == "-isystem"))


def find_included(file: Path, folders: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The names under which headers are included, conditions aside, and the files found for them
    in `folders`: a preprocessor's answer would take as long as the compilation."""
    names, left, seen = set(), [str(file)], {str(file)}
    while left:
        path = left.pop()
        for name in read_includes(path):
            names.add(name)
            found = resolve(name, os.path.dirname(path), folders)
            if found and found not in seen:
                seen.add(found)
                left.append(found)
    return names, seen


@cache
def read_includes(path: str) -> list[str]:
    text = Path(path).read_text(errors="replace")
    return re.findall(r'^\s*#\s*include\s*["<](.+?)[">]', text, re.MULTILINE)


@cache
def resolve(name: str, here: str, folders: tuple[str, ...]) -> str | None:
    return next((path for folder in (here, *folders)
                 if os.path.isfile(path := os.path.join(folder, name))), None)


def make_key(source: Source) -> str:
    """A name that differs if the compiler, its flags, the source or a header in its folders
    differ."""
    # Checkouts in several places share keys.
    place = str(ROOT)
    digest = hashlib.sha256(read_version(source.compiler).encode())
    digest.update("\0".join(source.flags).replace(place, "").encode())
    _, files = find_included(source.file, include_folders(source.flags))
    for file in sorted(files, key=lambda file: file.replace(place, "")):
        digest.update(file.replace(place, "").encode() + hash_file(file))
    return digest.hexdigest()


@cache
def read_version(compiler: str) -> str:
    return subprocess.check_output([compiler, "--version"], text=True)


@cache
def hash_file(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def precompile(names: frozenset[str], like: Source, path: Path) -> Path:
    header, output = path.with_suffix(".h"), path.with_suffix(".pch")
    header.write_text("".join(f'#include "{name}"\n' for name in sorted(names, key=HEAVY.index)))
    result = run_compiler(like, "-fpch-instantiate-templates", "-x", "c++-header", str(header),
                          "-o", str(output))
    if result.returncode:
        sys.exit(f"{header} doesn't compile:\n{result.stderr}")
    return output


def compile_source(source: Source, header: Path | None) -> str:
    precompiled = ["-Xclang", "-include-pch", "-Xclang", str(header)] if header else []
    result = run_compiler(source, *precompiled, "-fsyntax-only", str(source.file))
    if result.returncode == 0:
        return ""
    return f"{source.file} lacks an include:\n" + "\n".join(result.stderr.splitlines()[:20])


def run_compiler(source: Source, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([source.compiler, *source.flags, "-fPIC", *arguments],
                          cwd=source.folder, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
