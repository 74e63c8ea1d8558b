"""A second implementation of docs/spec.md: parses programs and evaluates them in fp64 with NumPy.

Written from the specification alone; it shares nothing with lib/Frontend and lib/Interpreter. Slow
and plain on purpose. Features that no program of the tests needs (errors with a place, `pooled` of
several dimensions, storage types other than fp64) are left out.
"""

from .program import Reader

__all__ = ["Reader"]
