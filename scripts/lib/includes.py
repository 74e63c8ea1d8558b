"""Compiles each source of a build with the headers that it includes, and no others.

A build's precompiled header shows every source the declarations of some fifty headers, so that a
forgotten include goes unnoticed. Here a source sees a precompiled header only if it includes
everything in it. The headers of HEAVY that a source includes are its set: a set that several
sources have is compiled once, and a source takes the largest such set within its set. With ccache,
a source that compiled before with equal headers isn't compiled again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
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
CCACHE = shutil.which("ccache")
CCACHE_SETTINGS = {
    "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime",
    # The key beside a precompiled header stands for it (write_key).
    "CCACHE_PCH_EXTSUM": "1"}


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
    with ThreadPoolExecutor(jobs) as executor:
        own = list(executor.map(find_heavy, sources))
        likes = {names: source for names, source in zip(own, sources)
                 if names and own.count(names) >= SHARED}
        # The largest first: they take longest.
        sets = sorted(likes, key=len, reverse=True)
        headers = dict(zip(sets, executor.map(
            lambda names: precompile(names, likes[names], folder / f"set{sets.index(names)}"),
            sets)))
        results = executor.map(
            lambda source, names, index: compile_source(
                source, choose_header(headers, names), folder / f"{index}.o"),
            sources, own, range(len(sources)))
        return {str(source.file): result for source, result in zip(sources, results)}


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


def precompile(names: frozenset[str], like: Source, path: Path) -> Path:
    header, output = path.with_suffix(".h"), path.with_suffix(".pch")
    header.write_text("".join(f'#include "{name}"\n' for name in sorted(names, key=HEAVY.index)))
    write_key(header, like, Path(f"{output}.sum"))
    # A precompiled header names its files by whole paths: no other checkout can use it.
    result = run_compiler(like, "-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp",
                          "-x", "c++-header", str(header), "-o", str(output), shared=False)
    if result.returncode:
        sys.exit(f"{header} doesn't compile:\n{result.stderr}")
    return output


def write_key(header: Path, like: Source, output: Path) -> None:
    """A text that differs if the headers that `header` includes differ."""
    digest = hashlib.sha256()
    _, files = find_included(header, include_folders(like.flags))
    for file in sorted(files):
        digest.update(Path(file).read_bytes())
    output.write_text(digest.hexdigest() + "\n")


def compile_source(source: Source, header: Path | None, output: Path) -> str:
    precompiled = ["-Xclang", "-include-pch", "-Xclang", str(header)] if header else []
    result = run_compiler(source, *precompiled, "-c", str(source.file), "-o", str(output))
    output.unlink(missing_ok=True)
    if result.returncode == 0:
        return ""
    return f"{source.file} lacks an include:\n" + "\n".join(result.stderr.splitlines()[:20])


def run_compiler(source: Source, *arguments: str,
                 shared: bool = True) -> subprocess.CompletedProcess[str]:
    """Compiles, or takes a result from the cache: unless `shared`, only results of this
    checkout."""
    command = [source.compiler, *source.flags, "-fPIC", *arguments]
    if CCACHE:
        command.insert(0, CCACHE)
    environment = os.environ | CCACHE_SETTINGS
    if not shared:
        for name in ("CCACHE_BASEDIR", "CCACHE_NOHASHDIR"):
            environment.pop(name, None)
    return subprocess.run(command, cwd=source.folder, env=environment,
                          capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
