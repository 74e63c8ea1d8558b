"""GPU tests are skipped, with the reason, where they can't run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

try:
    import torch

    import waiting
except ImportError:
    collect_ignore_glob = ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    if "waiting" in globals():
        waiting.capture = config.pluginmanager.getplugin("capturemanager")


@pytest.fixture(scope="session", autouse=True)
def device() -> str:
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    if torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("the GPU is older than compute capability 8.0")
    return "cuda:0"


@pytest.fixture(scope="session", autouse=True)
def compiled_ahead(request: pytest.FixtureRequest, device: str) -> None:
    """Compiles the cases of all tests that were asked for, on all cores."""
    parameters = [item.callspec.params for item in request.session.items
                  if hasattr(item, "callspec")]
    cases = dict.fromkeys(each["case"] for each in parameters if "case" in each)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda case: case.compile(), cases))
