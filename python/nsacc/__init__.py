"""nsacc compiles block-sparse attention programs.

    import nsacc
    program = nsacc.compile("examples/nsa.nsa", top=8)
    out = program(q, k, v, g_cmp, g_slc, g_swa)
"""

from . import errors
from ._compile import compile
from ._environment import env
from ._explain import Explanation
from ._nsacc import version as __version__
from ._tune import Progress, Trial, Tuning
from .errors import CacheWarning, CompileWarning
from .program import Program, Timing, load
from .signature import Dim, Signature, TensorSpec

__all__ = ["CacheWarning", "CompileWarning", "Dim", "Explanation", "Program", "Progress",
           "Signature", "TensorSpec", "Timing", "Trial", "Tuning", "__version__", "compile", "env",
           "errors", "load"]
