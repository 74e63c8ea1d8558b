"""Sends signals to a command when its progress says something, and tells how it ended.

interrupt.py INT,... WHO PATTERN COMMAND... sends the signals when a line of standard error matches the
pattern: to the command alone (WHO is "one"), or as a terminal does, to its children, too ("all"). Fails where a
process of the command is left.
"""

import os
import re
import signal
import subprocess
import sys
import time

names, who, pattern, *command = sys.argv[1:]
process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
send = os.killpg if who == "all" else os.kill
lines = []
for line in process.stderr:
    lines.append(line)
    if names and re.search(pattern, line):
        for name in names.split(","):
            send(process.pid, getattr(signal, "SIG" + name))
            time.sleep(0.05)
        names = ""
status = process.wait()
assert not names, "".join(lines)
print("".join(line for line in lines if "interrupted" in line), end="")
print("status", status)
# Children that the system is about to end are gone soon.
for _ in range(100):
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        print("nothing is left")
        break
    time.sleep(0.1)
