from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeTree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> MakeTree:
    """Makes a source tree from relative paths and texts, and returns its root."""

    def make(texts: dict[str, str]) -> Path:
        for relative, text in texts.items():
            path = tmp_path / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make
