"""Runs a command whose standard output is a terminal; prints what that shows, ends as it did."""

import os
import pty
import subprocess
import sys

main, end = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=end, close_fds=True)
os.close(end)
shown = b""
while True:
    try:
        part = os.read(main, 4096)
    except OSError:  # Linux says so that nothing has the terminal open any more
        break
    if not part:
        break
    shown += part
status = process.wait()
sys.stdout.write(shown.decode(errors="replace"))
sys.exit(status)
