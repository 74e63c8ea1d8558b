"""The suite `dense`."""
from __future__ import annotations

import argparse
from pathlib import Path

from ..gpu import suite
from . import works


def run(options: argparse.Namespace, root: Path) -> int:
    return suite.run(options, root, list(works.load(root / "benchmarks" / "dense.json")))
