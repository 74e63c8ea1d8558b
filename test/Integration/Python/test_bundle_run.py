"""The script that runs the GPU tests where a bundle was unpacked, without a GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dense_benchmarks import ROOT

TESTS = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def device():
    return "none"

@pytest.fixture(scope="session", autouse=True)
def compiled_ahead():
    pass

@pytest.mark.parametrize("number", range(5))
def test_number(number):
    assert number != {wrong}
    if number == {dies}:
        os._exit(3)

def test_skipped():
    pytest.skip("for a reason")
"""


@pytest.fixture
def run(tmp_path: Path):
    shutil.copy(ROOT / "scripts" / "lib" / "bundle_run", tmp_path / "run")
    shutil.copy(ROOT / "scripts" / "lib" / "summary.py", tmp_path)
    (tmp_path / "commit").write_text("0123\n")
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "test" / "Integration" / "GPU" / "conftest.py", tmp_path / "tests")
    shutil.copy(ROOT / "test" / "Integration" / "GPU" / "waiting.py", tmp_path / "tests")

    def start(*arguments: str, wrong: int = -1,
              dies: int = -1) -> subprocess.CompletedProcess[str]:
        (tmp_path / "tests" / "test_it.py").write_text(TESTS.format(wrong=wrong, dies=dies))
        return subprocess.run([tmp_path / "run", "--python", sys.executable, *arguments],
                              text=True, capture_output=True, check=False)

    return start


@pytest.mark.parametrize("jobs", [(), ("--jobs", "7")])
def test_each_test_runs_once(run, tmp_path: Path, jobs: tuple[str, ...]) -> None:
    done = run(*jobs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "5 passed, 0 failed, 1 skipped"
    assert "for a reason" in done.stdout
    facts = json.loads((tmp_path / "results" / "environment.json").read_text())
    assert facts["commit"] == "0123"


def test_a_failure_is_told(run) -> None:
    done = run("--jobs", "2", wrong=3)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "4 passed, 1 failed, 1 skipped"
    assert "test_number[3]" in done.stdout


def test_a_process_that_dies_is_a_failure(run) -> None:
    done = run("--jobs", "6", dies=3)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "4 passed, 1 failed, 1 skipped"


def test_no_test_is_a_failure(run) -> None:
    done = run("--jobs", "2", "-k", "typo")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_arguments_choose_tests(run) -> None:
    done = run("--jobs", "2", "-k", "number")
    assert done.stdout.splitlines()[-1] == "5 passed, 0 failed"


@pytest.mark.parametrize("arguments", [("--jobs", "0"), ("--jobs", "many")])
def test_wrong_numbers(run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "expected a number of processes" in done.stderr


def test_wrong_shares(run) -> None:
    done = run("--share", "3/2")
    assert done.returncode != 0
    assert "--share is '3/2', expected I/N" in done.stdout + done.stderr
