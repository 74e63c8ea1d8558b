"""Includes and CMake link libraries follow the dependency order of the folders."""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

_BASE = {"Support", "Tensor", "GPU"}
_MIDDLE = _BASE | {"dialects"}
_BACK = _MIDDLE | {"Signature", "Frontend", "Interpreter", "Schedule", "Conversion", "Target"}
_FRONT = _BACK | {"Pipelines", "Driver", "RT"}

# The folders that each folder may use besides itself.
ALLOWED: dict[str, set[str]] = {
    "Support": set(),
    "Tensor": {"Support"},
    "RT": set(),
    "GPU": {"Support"},
    "dialects": _BASE,
    "Signature": _MIDDLE,
    "Frontend": _MIDDLE | {"Signature"},
    "Interpreter": _MIDDLE | {"Signature"},
    "Schedule": _MIDDLE,
    "Conversion": _MIDDLE | {"Schedule", "RT"},
    "Target": _MIDDLE | {"Conversion", "RT"},
    "Pipelines": _BACK,
    "Driver": _BACK | {"Pipelines", "RT"},
    "Tuning": _FRONT,
    "Explain": _FRONT | {"Tuning"},
    "CAPI": _FRONT | {"Tuning", "Explain"},
    "tools": _FRONT | {"Tuning", "Explain", "CAPI"},
    "python": {"CAPI"},
}

# Numbers that both C interfaces share; they need nothing, and everything may use them.
_FREE = {"nsacc-c/dtype.h", "nsacc/DType.h"}

# Inside a dialect: IR <- Analysis <- Transforms.
_DIALECT_PARTS = ("IR", "Analysis", "Transforms")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
_CALL = re.compile(
    r"\b(add_nsacc_\w+|add_library|add_executable|target_link_libraries|pybind11_add_module)"
    r"\s*\(([^)]*)\)")
_DECLARES = re.compile(r"add_nsacc_\w+|add_library|add_executable|pybind11_add_module")


def check(root: Path) -> list[Problem]:
    return _check_includes(root) + _check_libraries(root)


def _check_includes(root: Path) -> list[Problem]:
    problems = []
    for path in files(root, "dialects", "lib", "include", "tools", "python",
                      suffixes=(".h", ".cpp", ".c")):
        relative, text = name(root, path), read(path)
        layer = _layer_of_file(relative)
        for match in _INCLUDE.finditer(text):
            included = match.group(1)
            message = (_rule(layer, _layer_of_include(root, included), f"include {included}")
                       or _dialect_order(relative, included)
                       or _without_mlir(layer, included))
            if message:
                problems.append(Problem(relative, line_of(text, match.start()), message))
    return problems


def _check_libraries(root: Path) -> list[Problem]:
    listings = [(name(root, path), re.sub(r"#.*", "", read(path)))
                for path in files(root, "dialects", "lib", "tools", "python",
                                  suffixes=("CMakeLists.txt",))]
    owners = {match.group(2).split()[0]: _layer_of_file(relative)
              for relative, text in listings for match in _CALL.finditer(text)
              if _DECLARES.fullmatch(match.group(1)) and match.group(2).split()}
    problems = []
    for relative, text in listings:
        layer = _layer_of_file(relative)
        for match in _CALL.finditer(text):
            for library in match.group(2).split()[1:]:
                message = (_rule(layer, owners.get(library), f"link {library}")
                           or _without_mlir(layer, library))
                if message:
                    problems.append(Problem(relative, line_of(text, match.start()), message))
    return problems


def _layer_of_file(relative: str) -> str | None:
    parts = relative.split("/")
    if parts[0] in ("dialects", "tools", "python"):
        return parts[0]
    if parts[:2] == ["include", "nsacc-c"]:
        return "CAPI"
    if parts[:2] == ["include", "nsacc-rt"]:
        return "RT"
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ["include", "nsacc"] and len(parts) > 3:
        return parts[2]
    return None


def _layer_of_include(root: Path, included: str) -> str | None:
    if included in _FREE:
        return None
    parts = included.split("/")
    if parts[0] == "nsacc-c":
        return "CAPI"
    if parts[0] == "nsacc-rt":
        return "RT"
    if parts[0] == "nsacc" and len(parts) > 2:
        return parts[1]
    if len(parts) > 1 and (root / "dialects" / parts[0]).is_dir():
        return "dialects"
    return None


def _rule(layer: str | None, used: str | None, action: str) -> str | None:
    if layer is None or used is None or used == layer:
        return None
    if layer not in ALLOWED:
        return f"folder {layer} has no place in the dependency order: add it to ALLOWED"
    if used in ALLOWED[layer]:
        return None
    allowed = ", ".join(sorted(ALLOWED[layer])) or "nothing else of ours"
    return f"{layer} must not {action}: it may use {allowed}"


def _dialect_order(relative: str, included: str) -> str | None:
    parts, used = relative.split("/"), included.split("/")
    if parts[0] != "dialects" or len(parts) < 4 or len(used) < 3 or used[0] != parts[1]:
        return None
    if parts[2] not in _DIALECT_PARTS or used[1] not in _DIALECT_PARTS:
        return None
    if _DIALECT_PARTS.index(used[1]) <= _DIALECT_PARTS.index(parts[2]):
        return None
    return f"{parts[1]}/{parts[2]} must not include {included}: IR <- Analysis <- Transforms"


def _without_mlir(layer: str | None, used: str) -> str | None:
    if layer == "Tensor" and used.lower().startswith("mlir"):
        return f"Tensor must not use {used}: it is linked by programs that have no compiler"
    if layer == "GPU" and used.lower().startswith("mlir"):
        return f"GPU must not use {used}: a device is plain data, and no IR"
    if layer == "RT" and used.lower().startswith(("mlir", "llvm")):
        return f"RT must not use {used}: machines that run packages have no LLVM"
    return None
