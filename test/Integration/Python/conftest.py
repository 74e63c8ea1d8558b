"""Options of these tests."""


def pytest_addoption(parser):
    parser.addoption("--sweep", choices=("pairwise", "full"), default="pairwise",
                     help="which programs test_gpu_sweep.py compiles")
