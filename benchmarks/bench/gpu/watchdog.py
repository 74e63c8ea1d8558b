"""Ends a process when its GPU doesn't answer: nothing else works while a kernel hangs."""
from __future__ import annotations

import os
import sys
import threading

GRACE_SECONDS = 60.0
EXIT_CODE = 3


class Watchdog:
    """Ends the process when it exceeds its time by so much."""

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
