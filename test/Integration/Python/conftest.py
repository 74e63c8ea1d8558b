"""Options of these tests."""

import os

# What is tested is compiled; tests of the cache have their own.
os.environ["NSACC_CACHE"] = "off"
os.environ["NSACC_TUNE"] = "off"


def pytest_addoption(parser):
    parser.addoption("--sweep", choices=("pairwise", "full"), default="pairwise",
                     help="which programs test_gpu_sweep.py compiles")
