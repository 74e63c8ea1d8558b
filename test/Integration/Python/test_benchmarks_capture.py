"""benchmarks/capture: the model, and selections of a small one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.sparse import model
from bench.sparse.capture import read_text
from bench.sparse.captured import load_selection
from dense_benchmarks import ROOT

SMALL = model.Size(width=32, layers=2, heads=2, group=2, head_size=8, block=8, top=4, chunk=24)


def test_a_model_sees_no_later_byte() -> None:
    torch.manual_seed(1)
    network = model.Model(SMALL)
    text = torch.randint(256, (2, 96))
    changed = text.clone()
    changed[:, 50:] = 7
    logits, (idx, _) = network(text)
    others, (other_idx, _) = network(changed)
    torch.testing.assert_close(logits[:, :50], others[:, :50])
    assert torch.equal(idx[:, :50], other_idx[:, :50])
    assert not torch.equal(logits[:, 50:], others[:, 50:])


def test_a_model_selects_by_its_scores() -> None:
    torch.manual_seed(1)
    _, (idx, _) = model.Model(SMALL)(torch.randint(256, (1, 96)))
    assert idx.shape == (1, 96, 2, 4) and idx.dtype == torch.int32
    for t in range(96):
        own = t // SMALL.block
        for head in range(2):
            blocks = idx[0, t, head].tolist()
            found = [block for block in blocks if block >= 0]
            assert found == sorted(set(found)) and blocks[len(found):] == [-1] * (4 - len(found))
            assert {0, own, max(0, own - 1)} <= set(found)
            assert len(found) == min(4, own + 1) and max(found) == own


def test_blocks_are_taken_by_index() -> None:
    x = torch.randn(2, 24, 3, 5)
    idx = torch.zeros(2, 7, 3, 2, dtype=torch.int32)
    idx[1, 4, 2] = torch.tensor([2, -1])
    taken = model.take_blocks(model.make_blocks(x, 8), idx)
    assert taken.shape == (2, 7, 3, 16, 5)
    assert torch.equal(taken[1, 4, 2, :8], x[1, 16:, 2])
    assert torch.equal(taken[1, 4, 2, 8:], x[1, :8, 2])


def test_chunks_change_nothing() -> None:
    torch.manual_seed(1)
    whole, parts = (model.Model(model.Size(**{**SMALL.__dict__, "chunk": chunk}))
                    for chunk in (96, 8))
    parts.load_state_dict(whole.state_dict())
    text = torch.randint(256, (1, 96))
    torch.testing.assert_close(whole(text)[0], parts(text)[0])


def test_the_repository_has_enough_text() -> None:
    assert len(read_text(ROOT, 1)) > 1 << 20


def test_a_small_model_learns_and_is_captured(tmp_path: Path) -> None:
    path = tmp_path / "captured.npz"
    sizes = {"tokens": 256, "steps": 30, "width": 48, "layers": 2, "heads": 2, "group": 2,
             "head-size": 16, "block": 16, "top": 5, "batch": 2}
    options = [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "capture", "--output", path,
                           *options], text=True, capture_output=True, check=True,
                          # Threads that wait for each other are slow if other processes work, too.
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert "bits per byte of text that it hasn't seen" in done.stdout
    idx = load_selection(path, (2, 256, 2, 5), 16)
    assert int(idx.max()) == 15 and (idx[:, 200:] >= 0).all()
    with np.load(path) as file:
        # A model that has learned nothing needs 8.
        assert float(file["bits_per_byte"]) < 7 and int(file["steps"]) == 30


@pytest.mark.parametrize(("options", "message"), [
    (["--tokens", "100"], "isn't a multiple of --block 64"),
    (["--tokens", str(1 << 26)], "too few for rows of")])
def test_what_cannot_be_captured_is_told(options: list[str], message: str,
                                         tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "capture", "--output",
                           tmp_path / "none", *options], text=True, capture_output=True,
                          check=False)
    assert done.returncode != 0 and message in done.stdout + done.stderr
