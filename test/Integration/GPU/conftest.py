"""GPU tests are skipped, with the reason, where they can't run."""

from __future__ import annotations

import pytest

try:
    import torch
except ImportError:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def device() -> str:
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    if torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("the GPU is older than compute capability 8.0")
    return "cuda:0"
