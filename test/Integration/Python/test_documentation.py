"""Every example and every program in the documentation compiles, whole ones without a warning, and
pages of Python run."""

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
    """The page's first program, the frame of statements without a kernel."""
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


@pytest.mark.parametrize("page, needs", [
    ("Python", ()), ("Transformers", ("torch", "transformers")), ("ComingFrom", ("torch",)),
    ("Serving", ("torch",))])
def test_pages_of_python_run(page, needs, monkeypatch):
    for library in needs:
        pytest.importorskip(library)
    monkeypatch.chdir(ROOT)
    blocks = PYTHON.findall((ROOT / f"docs/{page}.md").read_text())
    assert blocks
    exec(compile("\n".join(blocks), f"docs/{page}.md", "exec"), {})


def test_every_page_of_python_runs():
    """All pages except README.md, which scripts/checks runs, and CommandLine.md, which another test
    runs."""
    shown = {page.stem for page in PAGES[1:] if PYTHON.search(page.read_text())}
    run = {name for name, _needs in test_pages_of_python_run.pytestmark[0].args[1]}
    assert shown == run | {"CommandLine"}


def test_the_page_of_serving_names_tests_that_there_are():
    named = set(re.findall(r"`(test/[^`]+)`", (ROOT / "docs/Serving.md").read_text()))
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).is_file()] == []


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "utils/editors/vscode/README.md",
                                  *sorted((ROOT / "benchmarks").glob("*.md"))],
                         ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for path, _, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#([^)\s]+))?\)",
                                      page.read_text()):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path}"
        if anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name}: {path}#{anchor}"
