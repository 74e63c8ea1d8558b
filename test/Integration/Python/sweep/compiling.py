"""Compiles a case in a separate process, and checks its outcome."""

from __future__ import annotations

import functools
import json
import re
import resource
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .cases import Case

SECONDS = 60
"""The most processor seconds of a compilation."""
SPILLS = Path(__file__).with_name("spills.json")
"""Known spills of the named cases, in bytes of a thread; other cases have none."""
GROWTH = 1.25
"""Allowed growth of the known spills with another version of ptxas."""


@dataclass
class Outcome:
    seconds: float
    """Processor time."""
    status: int
    message: str
    registers: int = 0
    """Registers of a thread, in the kernel with the most."""

    @property
    def is_refused(self) -> bool:
        return self.status == 1

    @property
    def says(self) -> str:
        """The first error, without its place."""
        found = re.search(r"error: (.*)", self.message)
        return found.group(1) if found else self.message.strip()

    @property
    def spills(self) -> int:
        """Bytes that a thread spills, stored and loaded, in all kernels that nsacc warns of: a few
        bytes give no warning."""
        return sum(int(stored) + int(loaded) for stored, loaded in re.findall(
            r"(\d+) bytes of each thread's are stored and (\d+) loaded", self.message))

    @property
    def is_serialized(self) -> bool:
        """ptxas waits for each product before it issues the next one (warnings C75xx)."""
        return "(C75" in self.message


def compile_case(case: Case) -> Outcome:
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    with tempfile.TemporaryDirectory() as folder:
        path, code = Path(folder) / "program.nsa", Path(folder) / "code"
        path.write_text(case.text)
        name = case.kernel or r"\w+"
        signature = re.search(rf"kernel {name}\b.*?->", case.text, re.DOTALL).group()
        dims = {"HQ": 8, "H": 2, "D": case.width, "DV": case.width}
        parameters, _, tensors = signature.rpartition(">(")
        used = [each for each in dims if re.search(rf"\b{each}\b", tensors)
                and not re.search(rf"\b{each}\b", parameters)]
        arguments = ["--dims", ",".join(f"{each}={dims[each]}" for each in used)]
        arguments += ["--kernel", case.kernel] if case.kernel else []
        for name in ("top", "block"):
            if value := getattr(case, name):
                arguments += ["--set", f"{name}={value}"]
        before = _read_seconds()
        try:
            done = subprocess.run(
                [command, "compile", path, "--target", case.target, "--emit", "cubin", "-o", code,
                 "--dtype", case.dtype, *arguments], capture_output=True, text=True,
                timeout=SECONDS * 4)
        except subprocess.TimeoutExpired:
            return Outcome(SECONDS * 4, -1, "error: doesn't end")
        outcome = Outcome(_read_seconds() - before, done.returncode, done.stderr)
        if done.returncode == 0:
            outcome.registers = max(_read_registers(code.read_bytes()), default=0)
    return outcome


def compile_all(cases: list[Case], jobs: int) -> Iterator[tuple[Case, Outcome]]:
    """Outcomes in the order of the cases. Each process counts the time of its children."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip(cases, pool.map(compile_case, cases))


def _read_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_registers(cubin: bytes) -> list[int]:
    """Registers of a thread of each kernel, as attributes of the section `.nv.info`."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + size * i) for i in range(count)]
    registers = []
    for name, _, _, _, start, length in headers:
        at = headers[names][4] + name
        if cubin[at:cubin.index(b"\0", at)] != b".nv.info":
            continue
        at = start
        while at < start + length:
            form, attribute, payload = struct.unpack_from("<BBH", cubin, at)
            at += 4
            if (form, attribute) == (4, 0x2F):
                registers.append(struct.unpack_from("<II", cubin, at)[1])
            at += payload if form == 4 else 0
    return registers


@functools.cache
def known_spills() -> dict[str, int]:
    return json.loads(SPILLS.read_text())


def write_spills(rows: list[tuple[Case, Outcome]]) -> None:
    spills = {str(case): outcome.spills for case, outcome in rows if outcome.spills}
    SPILLS.write_text(json.dumps(spills, indent=1) + "\n")


def check(case: Case, outcome: Outcome) -> None:
    """Whether a case compiled in time into registers, or was refused with a reason in the program's
    words."""
    assert outcome.status in (0, 1), f"{case}: ends with {outcome.status}: {outcome.message}"
    assert outcome.seconds <= SECONDS, f"{case}: takes {outcome.seconds:.0f} s"
    assert not outcome.is_serialized, f"{case}: {outcome.message}"
    known = known_spills().get(str(case), 0)
    assert outcome.spills <= GROWTH * known, (
        f"{case}: spills {outcome.spills} bytes, known are {known}: {outcome.message}")
    if outcome.is_refused:
        assert re.search(r"\.nsa:\d+:\d+: error: ", outcome.message), f"{case}: {outcome.message}"
        assert "internal error" not in outcome.message, f"{case}: {outcome.message}"
