"""Compiles each source of a build with the headers that it includes, and no others.

A build's precompiled header shows every source the declarations of some fifty headers, so that a
forgotten include goes unnoticed. Here a source sees a precompiled header only if it includes all
that stands in it: the headers of TIERS are compiled once for each tier, and a source takes the last
tier that it covers.
"""

from __future__ import annotations

import argparse
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

ADT = ("llvm/ADT/STLExtras.h", "llvm/Support/raw_ostream.h")
CORE = (*ADT, "mlir/IR/Builders.h", "mlir/IR/BuiltinOps.h", "mlir/IR/OpImplementation.h",
        "mlir/Interfaces/FunctionInterfaces.h", "mlir/Interfaces/SideEffectInterfaces.h")
ARITH = (*CORE, "mlir/Dialect/Arith/IR/Arith.h")
LOOPS = (*ARITH, "mlir/Dialect/SCF/IR/SCF.h", "mlir/IR/IRMapping.h", "mlir/IR/Matchers.h")
TILES = (*LOOPS, "mlir/Dialect/Tensor/IR/Tensor.h")
TIERS = (ADT, CORE, ARITH, LOOPS, TILES, (*TILES, "mlir/Dialect/MemRef/IR/MemRef.h"),
         (*TILES, "mlir/Dialect/LLVMIR/LLVMDialect.h"))


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
    """The flags that decide what a source means: no outputs, optimizations, precompiled headers."""
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
    """What is wrong with each source; an empty text where nothing is."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as executor:
        tiers = list(executor.map(choose_tier, sources))
        # Headers for the most sources first: they take longest.
        needed = sorted({tier for tier in tiers if tier}, key=tiers.count, reverse=True)
        headers = dict(zip(needed, executor.map(
            lambda tier: precompile(tier, sources[tiers.index(tier)], folder), needed)))
        results = executor.map(
            lambda source, tier: compile_source(source, headers.get(tier)), sources, tiers)
        return {str(source.file): result for source, result in zip(sources, results)}


def choose_tier(source: Source) -> tuple[str, ...]:
    """The headers of the last tier that the source includes all of, itself or through others."""
    names = find_included(source.file, tuple(include_folders(source.flags)))
    return next((tier for tier in reversed(TIERS) if names.issuperset(tier)), ())


def include_folders(flags: list[str]) -> list[str]:
    joined = [flag[2:] for flag in flags if flag.startswith("-I")]
    return joined + [folder for flag, folder in zip(flags, flags[1:]) if flag == "-isystem"]


def find_included(file: Path, folders: tuple[str, ...]) -> set[str]:
    """The names under which headers are included, conditions aside: a preprocessor's answer would
    take as long as the compilation."""
    names, left, seen = set(), [str(file)], {str(file)}
    while left:
        path = left.pop()
        for name in read_includes(path):
            names.add(name)
            found = resolve(name, os.path.dirname(path), folders)
            if found and found not in seen:
                seen.add(found)
                left.append(found)
    return names


@cache
def read_includes(path: str) -> list[str]:
    text = Path(path).read_text(errors="replace")
    return re.findall(r'^\s*#\s*include\s*["<](.+?)[">]', text, re.MULTILINE)


@cache
def resolve(name: str, here: str, folders: tuple[str, ...]) -> str | None:
    return next((path for folder in (here, *folders)
                 if os.path.isfile(path := os.path.join(folder, name))), None)


def precompile(tier: tuple[str, ...], like: Source, folder: Path) -> Path:
    name = folder / f"tier{TIERS.index(tier)}"
    header, output = name.with_suffix(".h"), name.with_suffix(".pch")
    header.write_text("".join(f'#include "{path}"\n' for path in tier))
    subprocess.run([like.compiler, *like.flags, "-fPIC", "-fpch-instantiate-templates",
                    "-x", "c++-header", str(header), "-o", str(output)],
                   cwd=like.folder, check=True)
    return output


def compile_source(source: Source, header: Path | None) -> str:
    precompiled = ["-include-pch", str(header)] if header else []
    command = [source.compiler, *source.flags, "-fPIC", "-fsyntax-only", *precompiled,
               str(source.file)]
    result = subprocess.run(command, cwd=source.folder, capture_output=True, text=True)
    if result.returncode == 0:
        return ""
    return f"{source.file} lacks an include:\n" + "\n".join(result.stderr.splitlines()[:20])


if __name__ == "__main__":
    sys.exit(main())
