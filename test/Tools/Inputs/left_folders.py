"""Starts a tuner beside folders of others: left_folders.py TMPDIR COMMAND…"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path


def main(temporary: str, *command: str) -> None:
    folders = {name: Path(temporary) / f"nsacc-tune-{name}" for name in ("dead", "alive", "young")}
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "job.json").write_text("{}")
        if name != "young":
            hours_ago = time.time() - 2 * 3600
            os.utime(folder, (hours_ago, hours_ago))
    lock = os.open(folders["alive"], os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    environment = os.environ | {"TMPDIR": temporary, "NSACC_CACHE_DIR": temporary + "/cache"}
    subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    left = {path.name for path in Path(temporary).iterdir() if path.name.startswith("nsacc-")}
    assert left == {"nsacc-tune-alive", "nsacc-tune-young"}, left


main(*sys.argv[1:])
