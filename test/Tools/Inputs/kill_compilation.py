"""Kills a compilation while ptxas runs: kill_compilation.py BIN TMPDIR COMMAND…

Whichever signal ends it, TMPDIR has no file of it afterwards, and ptxas doesn't run on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def runs(process: int) -> bool:
    """A process that has ended may wait for one that asks for its status."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(folder: Path, temporary: Path, command: list[str], number: signal.Signals) -> None:
    started = folder / f"started-{number.name}"
    ptxas = folder / "ptxas"
    ptxas.write_text(f"#!/bin/sh\necho $$ >{started}.part\n"
                     f"mv {started}.part {started}\nexec sleep 600\n")
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
    assembler = int(started.read_text())
    for _ in range(500):
        if not runs(assembler):
            break
        time.sleep(0.02)
    assert not runs(assembler), "ptxas runs on"
    assert list(temporary.iterdir()) == []


def main(folder: str, temporary: str, *command: str) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        kill(Path(folder), Path(temporary), list(command), number)


main(*sys.argv[1:])
