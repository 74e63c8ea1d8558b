"""Options of these tests."""

import os

# Tested code is compiled, not taken from a cache; tests of the cache make a separate one.
os.environ["NSACC_CACHE"] = "off"
os.environ["NSACC_TUNE"] = "off"


def pytest_addoption(parser):
    parser.addoption("--sweep", choices=("pairwise", "full"), default="pairwise",
                     help="which programs test_gpu_sweep.py compiles")
