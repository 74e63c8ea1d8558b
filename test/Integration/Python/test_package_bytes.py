"""Packages with a changed byte and a corrected checksum."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import nsacc
from nsacc.errors import ArgumentError

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "Tools/Inputs"))
from package_seal import find_code, read_body, write_file  # noqa: E402

SOURCE = """kernel pk(q: [B, T, heads HQ, D], k: [B, S, heads H, D], v: [B, S, H, DV])
    -> (o: [B, T, HQ, DV], l: f32[B, T, HQ]) {
  a = attend(q, k, v) where j <= i;
  return a, lse(a);
}"""
# Loads and runs it in a separate process, which may die.
RUN = """
import sys
import numpy as np
import nsacc
for file in sys.argv[1:]:
    try:
        loaded = nsacc.load(file)
        loaded(*(np.ones((1, 9, *shape), np.float32) for shape in ((4, 16), (2, 16), (2, 8))))
        print("ran")
    except Exception as error:
        print(type(error).__name__, " ".join(str(error).split()))
"""


def load_and_run(files: list[Path]) -> list[str]:
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, files)], capture_output=True,
                          text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{files[len(lines)]}: {done.stderr}"
    return lines


def make_package(folder: Path) -> Path:
    path = folder / "pk.nsapkg"
    nsacc.compile(SOURCE, dtype="f32").package(path, {"HQ": 4, "H": 2, "D": 16, "DV": 8})
    return path


def test_sealed_again_it_runs(tmp_path: Path) -> None:
    package = make_package(tmp_path)
    again = tmp_path / "again.nsapkg"
    write_file(again, read_body(package))
    assert again.read_bytes() == package.read_bytes()
    assert load_and_run([again]) == ["ran"]


@pytest.mark.parametrize(("text", "other"), (
    ('"name":"DV"', '"name":"DW"'), ('"dtype":"f32"', '"dtype":"f16"'),
    ('"name":"q"', '"name":"x"'), ('"kernel":"pk"', '"kernel":"px"')))
def test_signatures_are_of_their_parameters(tmp_path: Path, text: str, other: str) -> None:
    """Callers are checked against the signature, and code runs with the parameters."""
    package = make_package(tmp_path)
    body = read_body(package)
    assert text.encode() in body
    write_file(package, body.replace(text.encode(), other.encode(), 1))
    with pytest.raises(ArgumentError, match="its signature isn't that of its parameters"):
        nsacc.load(package)


def test_no_byte_beside_code_may_differ(tmp_path: Path) -> None:
    """Some changes are of text, some of numbers that are as good an index or size as before."""
    body = read_body(make_package(tmp_path))
    code = [place for _, begin, end in find_code(body) for place in range(begin, end)]
    places = sorted(set(range(len(body))).difference(code))
    rng = random.Random(1)
    files = []
    for index, place in enumerate(rng.sample(places, 150)):
        changed = bytearray(body)
        changed[place] ^= 1 << rng.randrange(8)
        files.append(tmp_path / f"{index}.nsapkg")
        write_file(files[-1], bytes(changed), is_sealed=False)
    lines = load_and_run(files)
    assert len(lines) == len(files)
    refused = [line for line in lines
               if line.startswith("ArgumentError ") and ": damaged package: " in line]
    assert refused == lines
    assert sum("was made for another plan" in line for line in lines) > 10
