"""Files that callers name."""

from __future__ import annotations

import os
import stat

from .errors import ArgumentError


def read_file(path: str | os.PathLike[str], what: str) -> bytes:
    """The bytes of a file. A device, as /dev/zero, may have no end."""
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ArgumentError(f"'{os.fsdecode(path)}' is a device, not {what}")
        return file.read()
