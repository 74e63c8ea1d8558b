"""Kernels that don't end: a process that waits for one can only be ended, so it says for which."""

from __future__ import annotations

import os
import time
from typing import Any

import torch

capture: Any = None
"""pytest's capture, which holds back output."""


def wait(what: object, seconds: float = 60) -> None:
    """Waits for torch's current stream."""
    event = torch.cuda.Event()
    event.record()
    deadline = time.monotonic() + seconds
    while not event.query():
        if time.monotonic() > deadline:
            if capture is not None:
                capture.suspend_global_capture()
            print(f"\n{what} runs for more than {seconds} s", flush=True)
            os._exit(3)
        time.sleep(1e-5)
