"""Ends a process whose GPU doesn't answer: nothing else gets through while a kernel hangs."""
from __future__ import annotations

import os
import sys
import threading

GRACE_SECONDS = 60.0
EXIT_CODE = 3


class Watchdog:
    """Ends the process once it is that far beyond its time."""

    def __init__(self, most_seconds: float, grace: float = GRACE_SECONDS) -> None:
        self._timer = threading.Timer(most_seconds + grace, _end)
        self._timer.daemon = True

    def __enter__(self) -> Watchdog:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _end() -> None:
    print("benchmarks/run: the work above doesn't end; records of those before are written",
          file=sys.stderr, flush=True)
    os._exit(EXIT_CODE)
