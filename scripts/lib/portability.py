"""Systems that a library loads on: the versions of the C and C++ libraries that it asks for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

LIMITS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
"""Versions of RHEL 9, from glibc 2.34 and GCC 11. Ubuntu 22.04 has newer ones."""

PLATFORM = "manylinux_2_34_x86_64"
"""These limits as a wheel's tag."""


def too_new(library: Path) -> list[str]:
    """Versions that `library` needs and LIMITS doesn't have, each with the symbols that want it."""
    problems = []
    users = _symbols(library)
    for version in sorted(_versions(library)):
        family, _, number = version.partition("_")
        if family not in LIMITS or _within(number, LIMITS[family]):
            continue
        symbols = ", ".join(sorted(users.get(version, ()))) or "the file's format"
        most = ".".join(map(str, LIMITS[family]))
        problems.append(f"{library.name} needs {version} for {symbols}; the limit is {most}")
    return problems


def _within(number: str, limit: tuple[int, ...]) -> bool:
    """Features of a loader have names, like GLIBC_ABI_DT_RELR of 2.36: none is within."""
    if not re.fullmatch(r"\d+(\.\d+)*", number):
        return False
    return tuple(map(int, number.split("."))) <= limit


def _versions(library: Path) -> set[str]:
    _, _, references = _objdump("-p", library).partition("Version References:")
    return set(re.findall(r"^ +0x\w+ 0x\w+ \d+ (\S+)", references, re.MULTILINE))


def _symbols(library: Path) -> dict[str, set[str]]:
    symbols: dict[str, set[str]] = {}
    for version, symbol in re.findall(r"\*UND\*\s+\w+\s+\((\S+)\)\s+(\S+)$",
                                      _objdump("-T", library), re.MULTILINE):
        symbols.setdefault(version, set()).add(symbol)
    return symbols


def _objdump(option: str, library: Path) -> str:
    return subprocess.run(["objdump", option, str(library)], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
