"""The works of the suite."""
from __future__ import annotations

import json
from pathlib import Path

from .base import DenseWork, Goals
from .programs import Compressed, Moba, Nsa
from .ragged import HstuDense, HstuSparse, Packed
from .selected import Selected, Tiles
from .top import TopK

# Classes of works by the name of the program.
KINDS: dict[str, type[Goals]] = {
    "block_sparse": Selected, "tiles": Tiles, "compressed": Compressed, "nsa": Nsa, "moba": Moba,
    "flash": DenseWork, "packed": Packed, "hstu_bsa": HstuSparse, "hstu_dense": HstuDense,
    "topk": TopK}


def load(path: Path, captured: Path | None = None) -> list[Goals]:
    """`captured` is the file for works with selections of a trained model."""
    found = []
    for entry in json.loads(path.read_text()):
        kind = KINDS[Path(entry["program"]).stem]
        if entry.get("inputs") == "captured":
            entry["captured"] = captured
        found.append(kind(**entry))
    return found
