"""Every example and every program that the documentation shows compiles, whole ones without a
warning, and the Python page runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import nsacc
from harness import program

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```nsa\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> list:
    cases = []
    for page in PAGES:
        text = page.read_text() if page.exists() else ""
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            cases.append(pytest.param(page, block.group(1), id=f"{page.name}:{line}"))
    return cases


def frame(page: Path) -> str:
    """The page's first program: statements without a kernel of their own stand in it."""
    return BLOCK.search(page.read_text()).group(1)


@pytest.mark.parametrize("page, text", shown())
def test_shown_program_compiles(page, text):
    if "kernel" in text and not text.startswith("kernel tour"):
        warnings.simplefilter("error", nsacc.CompileWarning)
    elif "kernel" not in text:
        head, brace, tail = frame(page).partition("{\n")
        text = head + brace + text + tail
    assert program(text).ir("nsa")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.nsa")),
                         ids=lambda file: file.stem)
def test_examples_have_no_warnings(example):
    warnings.simplefilter("error", nsacc.CompileWarning)
    assert nsacc.compile(example.read_text(), target="oracle").ir("nsa")


def test_there_are_programs_to_compile():
    assert len(shown()) > 10


def test_python_page_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = PYTHON.findall((ROOT / "docs/Python.md").read_text())
    assert len(blocks) > 3
    exec(compile("\n".join(blocks), "docs/Python.md", "exec"), {})
