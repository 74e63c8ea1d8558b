"""Calls with DTensors: parts of batch and heads, if the compiler finds them independent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.skipif(not torch.distributed.is_available() or
                    not torch.distributed.is_gloo_available(), reason="torch has no gloo")
def test_two_processes(tmp_path):
    calls = Path(__file__).with_name("distributed_calls.py")
    processes = [
        subprocess.Popen([sys.executable, str(calls), str(rank), str(tmp_path / "store")],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(2)]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, output in zip(processes, outputs):
        assert process.returncode == 0, output
