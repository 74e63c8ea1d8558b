"""Kills a compilation while ptxas runs: kill_compilation.py BIN TMPDIR COMMAND…

Whichever signal ends it, TMPDIR has no file of it afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def kill(folder: Path, temporary: Path, command: list[str], number: signal.Signals) -> None:
    started = folder / f"started-{number.name}"
    ptxas = folder / "ptxas"
    ptxas.write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 2\n")
    ptxas.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(command, env=os.environ | {"PATH": path, "TMPDIR": str(temporary)})
    for _ in range(6000):
        if started.exists():
            break
        assert process.poll() is None, "it ended before it asked ptxas"
        time.sleep(0.02)
    assert started.exists()
    process.send_signal(number)
    process.wait()
    assert list(temporary.iterdir()) == []


def main(folder: str, temporary: str, *command: str) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        kill(Path(folder), Path(temporary), list(command), number)


main(*sys.argv[1:])
