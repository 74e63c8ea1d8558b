"""Options of these tests."""


def pytest_addoption(parser):
    parser.addoption("--sweep", choices=("short", "pairwise", "full"), default="short",
                     help="which programs test_gpu_sweep.py compiles")
