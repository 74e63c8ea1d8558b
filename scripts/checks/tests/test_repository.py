"""The repository passes every check."""

from __future__ import annotations

import importlib

import pytest

from checks.registry import CHECKS, REPOSITORY


@pytest.mark.parametrize("name", CHECKS)
def test_repository_passes(name: str) -> None:
    problems = importlib.import_module(f"checks.{name}").check(REPOSITORY)
    assert not problems, "\n" + "\n".join(map(str, problems))
