"""nsacc.env"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from typing import Any

import numpy as np

from . import _nsacc


def env() -> dict[str, Any]:
    """What nsacc is and what it found here, for bug reports.

    Versions (``torch`` is None unless imported), the targets, the number of processors, whether
    NumPy's bf16 (ml_dtypes) is installed, and the environment variables that nsacc reads.
    """
    torch = sys.modules.get("torch")
    return {
        "nsacc": _nsacc.version,
        "llvm": _nsacc.llvm_version,
        "abi": _nsacc.abi_version,
        "targets": list(_nsacc.targets),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": getattr(torch, "__version__", None),
        "ml_dtypes": importlib.util.find_spec("ml_dtypes") is not None,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "variables": {name: os.environ.get(name) for name in _nsacc.variables},
    }
