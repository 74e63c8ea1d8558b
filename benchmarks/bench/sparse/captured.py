"""Files of selections that a trained model made."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import torch


def save_selection(path: Path, idx: torch.Tensor, block: int, **facts: object) -> None:
    """Selections i32 [B, T, H, top], padded with -1; `facts` describe their origin."""
    path.parent.mkdir(parents=True, exist_ok=True)
    facts_arrays = {name: np.array(value) for name, value in facts.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, idx=idx.cpu().numpy().astype(np.int16), block=np.array(block),
                            **facts_arrays)


def load_selection(path: Path, shape: tuple[int, int, int, int], block: int) -> torch.Tensor:
    """The first rows, tokens and heads of the file. A token's blocks are of earlier tokens, so the
    first tokens have the selections of a shorter text.

    Raises ValueError if the file has less, or selections of another width or block size.
    """
    with np.load(path) as file:
        idx, found_block = file["idx"].astype(np.int32), int(file["block"])
    if found_block != block or idx.shape[3] != shape[3]:
        raise ValueError(f"{path} has {idx.shape[3]} blocks of {found_block} tokens a row, "
                         f"expected {shape[3]} of {block}")
    if any(there < needed for there, needed in zip(idx.shape, shape)):
        raise ValueError(f"{path} has selections [B, T, H, top] = {list(idx.shape)}, expected at "
                         f"least {list(shape)}")
    batch, tokens, heads, _ = shape
    return torch.from_numpy(np.ascontiguousarray(idx[:batch, :tokens, :heads]))
