"""Sends signals to a command when its progress says something, and tells how it ended.

interrupt.py INT,... WHO PATTERN COMMAND... sends the signals when a line of standard error matches
the pattern: to the command alone (WHO is "one"; "worker": when a worker of it runs), or as a
terminal does, to its children, too ("all").
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

names, who, pattern, *command = sys.argv[1:]
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
send = os.killpg if who == "all" else os.kill


def has_worker():
    """Whether a process of the command's session is a worker."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_own = os.getpgid(int(folder.name)) == process.pid
            if is_own and b"tune-worker" in (folder / "cmdline").read_bytes():
                return True
        except OSError:  # it has ended
            pass
    return False


left = names.split(",")
lines = []
for line in process.stderr:
    lines.append(line)
    if left and re.search(pattern, line):
        while who == "worker" and not has_worker() and process.poll() is None:
            time.sleep(0.01)
        if who == "worker":
            time.sleep(0.5)  # it has to have begun
        while left:
            send(process.pid, getattr(signal, "SIG" + left.pop(0)))
status = process.wait()
print("".join(line for line in lines if "interrupted" in line), end="")
print("status", status)
if left:
    print("never sent:", *left, "after", *lines)
# Children that the system is about to end are gone soon.
for _ in range(100):
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        print("nothing is left")
        break
    time.sleep(0.1)
