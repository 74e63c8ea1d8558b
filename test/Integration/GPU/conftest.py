"""GPU tests are skipped, with the reason, where they can't run."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

# Tested code is compiled, not taken from a cache.
os.environ["NSACC_CACHE"] = "off"
os.environ["NSACC_TUNE"] = "off"

try:
    import torch

    import waiting
except ImportError:
    collect_ignore_glob = ["test_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", default="1/1", type=_parse_share, metavar="I/N",
                     help="run the tests I, I + N, I + 2 N, … alone; others are another process's")


def _parse_share(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise pytest.UsageError(f"--share is {text!r}, expected I/N with 1 <= I <= N")
    return int(index), int(count)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    index, count = config.getoption("--share")
    others = [item for place, item in enumerate(items) if place % count != index - 1]
    config.hook.pytest_deselected(items=others)
    items[:] = items[index - 1::count]


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
    """Compiles the cases of all chosen tests, on all cores or this process's share."""
    parameters = [item.callspec.params for item in request.session.items
                  if hasattr(item, "callspec")]
    cases = dict.fromkeys(each["case"] for each in parameters if "case" in each)
    _, count = request.config.getoption("--share")
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // count)) as pool:
        list(pool.map(lambda case: case.compile(), cases))
