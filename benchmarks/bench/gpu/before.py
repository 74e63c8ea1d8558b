"""Runs the works with another build of nsacc, in a separate process.

Two builds can't share a process: both have a module and libraries of the same names.
"""
from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType

from .peers import Unavailable
from .timing import CudaTimer, Launch
from .works import Work


class Before:
    """The folder of another unpacked bundle. Its visits take turns with this process's visits."""

    def __init__(self, folder: Path, root: Path, visit_ms: float, seed: int) -> None:
        if not (folder / "nsacc" / "__init__.py").is_file():
            raise ValueError(f"{folder} has no package nsacc; expected the folder that a bundle "
                             "of scripts/bundle was unpacked to")
        commit = folder / "commit"
        self.name = f"before {commit.read_text().strip()[:12] if commit.is_file() else folder}"
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _start,
                                         (str(folder.resolve()), root, visit_ms, seed))

    def __enter__(self) -> Before:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def prepare(self, work: Work, graphs: bool) -> Callable[[], float]:
        """Checks the result of this work, and returns a function that measures a visit."""
        try:
            self._pool.submit(_prepare, work, graphs).result()
        except BrokenProcessPool as error:
            raise Unavailable("its process ended") from error
        except Exception as error:  # Any exception of the other build.
            raise Unavailable(f"{type(error).__name__}: {str(error).strip()[:300]}") from error
        return lambda: self._pool.submit(_measure, work.id).result()

    def drop(self) -> None:
        """Forgets all works, and frees the memory of their tensors."""
        # A process that ended has freed everything.
        with suppress(BrokenProcessPool):
            self._pool.submit(_drop).result()


class _Worker:
    """The other process's side."""

    def __init__(self, root: Path, visit_ms: float, seed: int) -> None:
        self.root, self.seed = root, seed
        self.timer = CudaTimer(visit_ms)
        self.launches: dict[str, Launch] = {}


_worker: _Worker


def _start(folder: str, root: Path, visit_ms: float, seed: int) -> None:
    global _worker
    # This folder comes before the package that the parent process measures.
    sys.path.insert(0, folder)
    _worker = _Worker(root, visit_ms, seed)


def _prepare(work: Work, graphs: bool) -> None:
    # These import nsacc, the other build's at this point.
    import torch

    from .bench import OURS, Setting, check_program, make_order

    with torch.no_grad():
        setting = Setting(_worker.root, torch.device("cuda", 0), _worker.timer, _worker.seed)
        program, inputs = setting.make_program(work)
        check_program(work, inputs, program, make_order(work, _worker.seed))
        launches, _ = _worker.timer.plan({OURS: program}, graphs)
        _worker.launches[work.id] = launches[OURS]


def _measure(name: str) -> float:
    import torch

    with torch.no_grad():
        return _worker.timer.measure(_worker.launches[name])


def _drop() -> None:
    import torch

    _worker.launches.clear()
    gc.collect()
    torch.cuda.empty_cache()
