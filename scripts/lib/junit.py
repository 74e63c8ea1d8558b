"""Writes the result files that summary.py reads, for tests that are not run by pytest or lit."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, failures: Mapping[str, str]) -> None:
    """Writes one test case for each name; its failure is the text, or none if that is empty."""
    suite = ElementTree.Element("testsuite", name=path.stem, tests=str(len(failures)))
    for name, failure in failures.items():
        case = ElementTree.SubElement(suite, "testcase", classname=path.stem, name=name)
        if failure:
            ElementTree.SubElement(case, "failure").text = _printable(failure)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    """XML has no room for control characters, which mutated programs hold."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
