"""nsacc.env"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

import numpy as np

from . import _nsacc


def env() -> dict[str, Any]:
    """Describes nsacc and this machine, for bug reports.

    Versions (``torch`` is None where it isn't installed), the targets, the number of processors,
    whether NumPy's bf16 (ml_dtypes) is installed, and the environment variables that nsacc reads.
    """
    return {
        "nsacc": _nsacc.version,
        "llvm": _nsacc.llvm_version,
        "abi": _nsacc.abi_version,
        "targets": list(_nsacc.targets),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": _find_version("torch"),
        "ml_dtypes": importlib.util.find_spec("ml_dtypes") is not None,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "variables": {name: os.environ.get(name) for name in _nsacc.variables},
    }


def _find_version(package: str) -> str | None:
    """The version of a package that may be slow to import."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
